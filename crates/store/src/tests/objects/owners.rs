//! Whose an object store is, and whether what the database names is there.

use crate::objects::Present;
use crate::tests::objects::{KEPT_MS, World, large_body};
use crate::tests::prelude::*;

fn is_unowned<T: std::fmt::Debug>(outcome: Result<T, StoreError>) -> bool {
    matches!(outcome.expect_err("it is not ours"), StoreError::ObjectStore(ObjectStoreError::Unowned { .. }))
}

on_both!(in_an_empty_folder_in_the_place_of_its_own_nothing_is_put_and_nothing_counts_as_deleted);
async fn in_an_empty_folder_in_the_place_of_its_own_nothing_is_put_and_nothing_counts_as_deleted(
    world: &mut World,
) {
    let (kept, deleted) = (world.insert_large(1).await, world.insert_large(2).await);
    world.complete().await;
    world.delete(deleted).await;
    world.sweep(START).await;
    // As where nothing is mounted.
    let elsewhere = world.folder.path().join("elsewhere");
    fs::rename(world.objects(), &elsewhere).expect("a move");
    fs::create_dir(world.objects()).expect("an empty folder");
    let request = world.large(3);
    assert!(is_unowned(requests::insert(world.store(), request).await));
    let read = requests::find_record(world.store(), world.fixture.account, kept).await;
    assert!(is_unowned(read.map(drop)), "it is not there, and not lost");
    assert!(is_unowned(objects::audit(world.store()).await));
    assert!(is_unowned(objects::sweep(world.store(), START + KEPT_MS, KEPT_MS).await));
    let account = world.fixture.account;
    world.delete(kept).await;
    assert!(is_unowned(closing::mark_erased(world.store(), account, START + 30 * DAY_MS).await));
    assert_eq!(world.files().len(), 0);
    fs::remove_dir(world.objects()).expect("an empty folder");
    fs::rename(&elsewhere, world.objects()).expect("a move");
    assert!(world.files().len() == 4 && world.waiting().await == 4);
    world.insert_large(4).await;
    assert_eq!(world.sweep(START + 30 * DAY_MS).await, 4);
    assert_eq!(world.files().len(), 1);
}

on_both!(a_probe_says_whose_the_object_store_is_and_puts_nothing_where_it_is_not_ours);
async fn a_probe_says_whose_the_object_store_is_and_puts_nothing_where_it_is_not_ours(world: &mut World) {
    let owner = world.objects().join("database");
    let probe = async |world: &World| objects::probe(world.store()).await;
    assert!(!probe(world).await.expect("it is nobody's"));
    assert!(!owner.exists(), "a probe takes nothing");
    assert!(!world.objects().join("0").exists(), "nor does it leave a folder");
    fs::write(&owner, "another\n").expect("a file");
    let refused = probe(world).await.expect_err("it is another's");
    assert!(matches!(refused, StoreError::ObjectStore(ObjectStoreError::Foreign(_))), "{refused}");
    fs::remove_file(&owner).expect("a deletion");
    world.insert_large(1).await;
    assert!(probe(world).await.expect("it is ours"));
    assert_eq!(world.files().len(), 1, "a probe leaves nothing");
    fs::remove_dir_all(world.objects()).expect("a deletion");
    fs::create_dir(world.objects()).expect("an empty folder");
    assert!(is_unowned(probe(world).await));
    assert_eq!(fs::read_dir(world.objects()).expect("a folder").count(), 0, "nothing is put");
}

on_both!(an_object_store_of_another_database_takes_nothing_and_loses_nothing, no audit);
async fn an_object_store_of_another_database_takes_nothing_and_loses_nothing(world: &mut World) {
    fs::write(world.objects().join("database"), "another\n").expect("a file");
    let theirs = world.objects().join(world.fixture.account.0.to_string());
    fs::create_dir(&theirs).expect("a folder");
    fs::write(theirs.join("0".repeat(32)), "theirs").expect("a file");
    let request = world.large(1);
    let refused = requests::insert(world.store(), request).await.expect_err("it is another's");
    assert!(matches!(refused, StoreError::ObjectStore(ObjectStoreError::Foreign(_))), "{refused}");
    assert_eq!(world.waiting().await, 0);
    let account = world.fixture.account;
    closing::mark_erased(world.store(), account, START + DAY_MS).await.expect("nothing there is ours");
    assert_eq!(world.files().len(), 1);
}

on_both!(an_audit_of_objects_finds_what_is_missing_and_what_is_cut_and_what_nobody_names);
async fn an_audit_of_objects_finds_what_is_missing_and_what_is_cut_and_what_nobody_names(world: &mut World) {
    for key in 0..4 {
        world.insert_large(key).await;
    }
    let account = world.fixture.account;
    world.store().stored(account, large_body(9), START).await.expect("a put that is never used");
    let audit = async || objects::audit(world.store()).await.expect("an audit");
    let sound = Present { used: 4, ..Present::default() };
    assert_eq!(audit().await, sound);
    let files = world.files();
    let stray = world.objects().join("77").join(format!("{:032x}", 1));
    fs::create_dir_all(stray.parent().expect("a folder")).expect("a folder");
    fs::write(stray, "of a backup").expect("a file");
    fs::write(world.objects().join("77").join("notes"), "no object").expect("a file");
    assert_eq!(audit().await, Present { unnamed: 1, ..sound });
    for (number, file) in files.iter().enumerate() {
        let content = fs::read(file).expect("a file");
        fs::write(file, &content[1..]).expect("a write");
        let cut = audit().await.damaged;
        fs::remove_file(file).expect("a deletion");
        let missing = audit().await.missing;
        // One of the five is in use by nothing.
        assert!(cut <= 1 && (missing == number as i64 || missing == number as i64 + 1), "{cut} {missing}");
    }
    assert_eq!(audit().await, Present { used: 4, missing: 4, damaged: 0, unnamed: 1 });
}
