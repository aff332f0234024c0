//! Owners of objects.

use std::fs;

use super::*;

#[tokio::test]
async fn it_belongs_to_the_database_that_used_it_first_and_a_folder_that_is_not_mounted_to_none() {
    let (_folder, path, store) = in_folder();
    assert_eq!(store.find_claim().await.expect("an answer"), None);
    let unowned = store.check_owner(GREEDY, "one", false).await.expect_err("nothing says so");
    assert!(matches!(&unowned, ObjectStoreError::Unowned { path, .. } if path == "database"), "{unowned}");
    store.check_owner(GREEDY, "one", true).await.expect("it is now");
    store.check_owner(GREEDY, "one", false).await.expect("it still is");
    assert_eq!(store.find_claim().await.expect("an answer").as_deref(), Some("database"));
    let foreign = store.check_owner(GREEDY, "another", true).await.expect_err("it is one's");
    assert!(matches!(foreign, ObjectStoreError::Foreign(_)) && foreign.is_passing(), "{foreign}");
    assert_eq!(fs::read(path.join("database")).expect("a file"), b"one\n");
    fs::write(path.join("database"), [b'x'; 5_000]).expect("a file");
    let foreign = store.check_owner(GREEDY, "one", true).await.expect_err("that is none of ours");
    assert!(matches!(foreign, ObjectStoreError::Foreign(_)), "{foreign}");
    assert_eq!(store.find_claim().await.expect("an answer").as_deref(), Some("database"));
    assert!(unowned.to_string().contains("write `one` and a line feed into `database`"), "{unowned}");
}

#[tokio::test]
async fn of_two_databases_that_take_a_prefix_in_the_same_moment_one_has_it() {
    let gate = Gate::closed();
    let [one, two] = [(); 2].map(|()| ObjectStore::over(gate.clone(), Path::default()));
    let late = tokio::spawn(async move { two.check_owner(GREEDY, "two", true).await });
    gate.wait_for(1).await;
    gate.answer_one().await;
    // It has found the prefix unowned, and is about to take it.
    gate.reopen();
    one.check_owner(GREEDY, "one", true).await.expect("it is now");
    gate.answer_one().await;
    let foreign = late.await.expect("an end").expect_err("it is one's");
    assert!(matches!(foreign, ObjectStoreError::Foreign(_)), "{foreign}");
    one.check_owner(GREEDY, "one", false).await.expect("it still is");
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
