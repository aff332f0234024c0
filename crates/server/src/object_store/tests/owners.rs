//! Whose the objects are.

use std::fs;

use super::*;

#[tokio::test]
async fn it_belongs_to_the_database_that_used_it_first_and_a_folder_that_is_not_mounted_to_none() {
    let (_folder, path, store) = in_folder();
    let unowned = store.check_owner(GREEDY, "one", false).await.expect_err("nothing says so");
    assert!(matches!(&unowned, ObjectStoreError::Unowned { path, .. } if path == "database"), "{unowned}");
    store.check_owner(GREEDY, "one", true).await.expect("it is now");
    store.check_owner(GREEDY, "one", false).await.expect("it still is");
    let foreign = store.check_owner(GREEDY, "another", true).await.expect_err("it is one's");
    assert!(matches!(foreign, ObjectStoreError::Foreign(_)) && foreign.is_passing(), "{foreign}");
    assert_eq!(fs::read(path.join("database")).expect("a file"), b"one\n");
    fs::write(path.join("database"), [b'x'; 5_000]).expect("a file");
    let foreign = store.check_owner(GREEDY, "one", true).await.expect_err("that is none of ours");
    assert!(matches!(foreign, ObjectStoreError::Foreign(_)), "{foreign}");
    assert!(unowned.to_string().contains("put `one` and a line feed there"), "{unowned}");
}

/// Two databases that take one prefix in the same moment: whether each has it then.
async fn take_together(gate: &Arc<Gate>) -> [Result<(), ObjectStoreError>; 2] {
    gate.close();
    let [one, two] = ["one", "two"].map(|database| {
        let store = ObjectStore::over(gate.clone(), Path::default());
        tokio::spawn(async move { store.check_owner(GREEDY, database, true).await })
    });
    while !one.is_finished() || !two.is_finished() {
        gate.answer_one().await;
    }
    [one.await.expect("an end"), two.await.expect("an end")]
}

#[tokio::test]
async fn of_two_databases_that_take_a_prefix_in_the_same_moment_one_has_it() {
    let gate = Gate::open();
    let [one, two] = take_together(&gate).await;
    assert!(one.is_ok() && matches!(two, Err(ObjectStoreError::Foreign(_))), "{one:?} {two:?}");
}

#[tokio::test]
async fn where_puts_have_no_conditions_a_prefix_is_taken_nevertheless() {
    let gate = Gate::open();
    gate.forget_conditions();
    let store = ObjectStore::over(gate.clone(), Path::default());
    store.check_owner(GREEDY, "one", true).await.expect("it is now");
    let other = ObjectStore::over(gate.clone(), Path::default());
    let foreign = other.check_owner(GREEDY, "two", true).await.expect_err("it is one's");
    assert!(matches!(foreign, ObjectStoreError::Foreign(_)), "{foreign}");
}

#[tokio::test]
async fn the_owner_is_asked_for_again_while_the_object_store_is_away_and_in_a_folder_each_time() {
    let gate = Gate::open();
    let store = ObjectStore::over(gate.clone(), Path::default());
    assert!(!store.is_owner_known());
    store.check_owner(GREEDY, "one", true).await.expect("it is now");
    assert!(store.is_owner_known());
    gate.set_away(true);
    store.probe().await.expect_err("it is away");
    assert!(!store.is_owner_known(), "who puts finds out that it is away before");
    gate.set_away(false);
    store.check_owner(GREEDY, "one", false).await.expect("it is back");
    assert!(store.is_owner_known());
    let (_folder, _, store) = in_folder();
    store.check_owner(GREEDY, "one", true).await.expect("it is now");
    assert!(!store.is_owner_known(), "it may not be mounted any more");
}
