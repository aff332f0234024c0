//! When objects are put, used and deleted, and what a crash leaves of them.

use crate::objects::table;
use crate::requests::Due;
use crate::tests::objects::{HOUR_MS, KEPT_MS, World, files_under, is_away, large_body, large_result};
use crate::tests::prelude::*;

on_both!(an_answer_that_cannot_be_put_is_stored_in_the_database);
async fn an_answer_that_cannot_be_put_is_stored_in_the_database(world: &mut World) {
    let first = world.insert_large(1).await;
    let come_back = world.take_away();
    world.complete().await;
    assert_eq!(world.are_beside("results").await, [false]);
    come_back();
    assert_eq!(world.find(first).await.expect("a read").result, Some(large_result()));
    world.insert_large(2).await;
    world.complete().await;
    assert_eq!(world.are_beside("results").await, [false, true]);
    assert_eq!(world.waiting().await, 0, "nothing was to be put");
    world.sweep(START + DAY_MS + 2).await;
    assert_eq!((world.files().len(), world.waiting().await), (3, 0));
}

on_both!(what_was_put_and_never_used_is_deleted_after_a_day_and_used_no_more);
async fn what_was_put_and_never_used_is_deleted_after_a_day_and_used_no_more(world: &mut World) {
    let used = world.insert_large(1).await;
    let account = world.fixture.account;
    // The process ends between the put and the commit.
    let stored = world.store().stored(account, large_body(2), START).await.expect("a put");
    world.fixture.restart().await;
    assert_eq!((world.files().len(), world.waiting().await), (2, 1));
    assert_eq!(world.sweep(START + DAY_MS - 1).await, 0);
    assert_eq!(world.sweep(START + DAY_MS).await, 1);
    assert_eq!((world.files().len(), world.waiting().await), (1, 0));
    let late = async move |tx: &mut Tx<'_>| table::use_for_results([(1, &*stored)].into_iter(), tx).await;
    let refused = world.store().transaction(late).await.expect_err("it is gone");
    assert!(matches!(refused, StoreError::Refused(_)), "{refused}");
    assert_eq!(world.sweep(START + 100 * DAY_MS).await, 0, "what is in use is never deleted");
    assert_eq!(world.find(used).await.expect("a read").body, large_body(1));
}

on_both!(what_is_deleted_is_kept_for_backups_and_then_deleted_for_sure);
async fn what_is_deleted_is_kept_for_backups_and_then_deleted_for_sure(world: &mut World) {
    let (deleted, stays) = (world.insert_large(1).await, world.insert_large(2).await);
    world.complete().await;
    world.delete(deleted).await;
    world.delete(deleted).await;
    world.fixture.assert_sound().await;
    assert_eq!((world.files().len(), world.waiting().await), (4, 2));
    assert_eq!(world.sweep(START).await, 0, "the time begins when it is first seen");
    assert_eq!(world.sweep(START + KEPT_MS - 1).await, 0);
    let come_back = world.take_away();
    assert!(is_away(objects::sweep(world.store(), START + KEPT_MS, KEPT_MS).await));
    come_back();
    world.fixture.restart().await;
    assert_eq!(world.sweep(START + KEPT_MS).await, 2);
    assert_eq!(world.sweep(START + KEPT_MS).await, 0);
    assert_eq!((world.files().len(), world.waiting().await), (2, 0));
    assert_eq!(world.find(stays).await.expect("a read").body, large_body(2));
}

on_both!(a_crash_between_the_deletion_of_an_object_and_of_its_row_only_repeats_it);
async fn a_crash_between_the_deletion_of_an_object_and_of_its_row_only_repeats_it(world: &mut World) {
    world.insert_large(1).await;
    world.complete().await;
    let due = Due::all(world.fixture.account, requests::FOR_EVER);
    assert_eq!(delete_ended(world.store(), due).await.expect("a deletion"), 1);
    world.sweep(START).await;
    fs::remove_file(world.files().remove(0)).expect("the first is deleted, and its row is not");
    world.fixture.restart().await;
    assert_eq!(world.sweep(START + KEPT_MS).await, 2);
    assert_eq!((world.files().len(), world.waiting().await), (0, 0));
}

on_both!(of_an_erased_account_nothing_is_left_under_its_prefix, no audit);
async fn of_an_erased_account_nothing_is_left_under_its_prefix(world: &mut World) {
    let id = world.insert_large(1).await;
    world.complete().await;
    let account = world.fixture.account;
    world.store().stored(account, large_body(2), START).await.expect("a put that is never used");
    fs::write(world.objects().join(account.0.to_string()).join("stray"), b"named by no row").expect("a file");
    world.delete(id).await;
    let (store, soon) = (world.store(), START + 1_000);
    assert!(
        !closing::mark_erased(store, account, soon).await.expect("a look"),
        "one may be put in this moment"
    );
    let later = START + 2 * 60 * 60 * 1_000;
    let come_back = world.take_away();
    assert!(is_away(closing::mark_erased(store, account, later).await));
    come_back();
    closing::mark_erased(store, account, later).await.expect("a write");
    assert!(world.files().is_empty());
    assert_eq!(world.waiting().await, 0);
}

on_both!(an_account_whose_object_is_refused_is_not_erased_and_keeps_no_other, no audit);
async fn an_account_whose_object_is_refused_is_not_erased_and_keeps_no_other(world: &mut World) {
    let id = world.insert_large(1).await;
    world.complete().await;
    world.delete(id).await;
    world.sweep(START).await;
    let held = world.files().remove(0);
    fs::remove_file(&held).expect("a deletion");
    fs::create_dir(&held).expect("a folder in the place of an object, which is deleted as no file is");
    let (store, account) = (world.store(), world.fixture.account);
    let other = accounts::insert(store, &new_account(8)).await.expect("an account").key;
    let theirs = store.stored(other, large_body(2), START).await.expect("a put that is never used");
    assert!(is_reference(&theirs));
    let due = START + KEPT_MS;
    closing::mark_erased(store, other, due).await.expect("the refusal is another's");
    assert_eq!(
        (files_under(&world.objects().join(other.0.to_string())).len(), world.waiting().await),
        (0, 1)
    );

    assert!(!closing::mark_erased(store, account, due).await.expect("a look"), "it waits");
    let refused = closing::mark_erased(store, account, due + HOUR_MS).await.expect_err("it is its own");
    assert!(matches!(refused, StoreError::ObjectStore(ObjectStoreError::Refused(_))), "{refused}");
    fs::remove_dir(&held).expect("the folder goes");
    assert!(!closing::mark_erased(store, account, due + HOUR_MS).await.expect("a look"), "it waits again");
    closing::mark_erased(store, account, due + 2 * HOUR_MS).await.expect("a write");
    assert_eq!((world.files().len(), world.waiting().await), (0, 0));
}

on_both!(more_objects_than_one_transaction_takes_are_all_deleted);
async fn more_objects_than_one_transaction_takes_are_all_deleted(world: &mut World) {
    let account = world.fixture.account;
    let puts = (0..=255).chain(0..=255).map(|key| world.store().stored(account, large_body(key), START));
    for put in join_all(puts).await {
        put.expect("a put");
    }
    let let_go = sql("UPDATE objects SET state = 2, delete_at = NULL");
    world.store().transaction(async move |tx: &mut Tx<'_>| tx.execute(let_go).await).await.expect("a write");
    assert_eq!((world.files().len(), world.sweep(START).await), (512, 0), "all of them are seen");
    assert_eq!((world.sweep(START + KEPT_MS).await, world.waiting().await), (512, 0));
    assert!(world.files().is_empty());
}

on_both!(an_object_that_is_being_deleted_is_used_no_more);
async fn an_object_that_is_being_deleted_is_used_no_more(world: &mut World) {
    world.insert_large(1).await;
    let account = world.fixture.account;
    let stored = world.store().stored(account, large_body(2), START).await.expect("a put");
    let come_back = world.take_away();
    assert!(is_away(objects::sweep(world.store(), START + DAY_MS, KEPT_MS).await), "it is claimed");
    let late = async move |tx: &mut Tx<'_>| table::use_for_results([(1, &*stored)].into_iter(), tx).await;
    let refused = world.store().transaction(late).await.expect_err("it may be gone in a moment");
    assert!(matches!(refused, StoreError::Refused(_)), "{refused}");
    come_back();
    assert_eq!((world.sweep(START + DAY_MS).await, world.files().len()), (1, 1));
}

#[tokio::test]
async fn nodes_share_objects_and_delete_each_once() {
    let mut world = World::over(Fixture::on_postgres().await).await;
    let folder = tempfile::tempdir().expect("a folder");
    let other = StoreOptions { folder: folder.path().to_owned(), ..world.fixture.options.clone() };
    let other = open(&other).await;
    let mut ids = Vec::new();
    for key in 0..20 {
        ids.push(world.insert_large(key).await);
    }
    let found = requests::find_record(&other, world.fixture.account, ids[7]).await.expect("a read");
    assert_eq!(found.expect("the request").body, large_body(7));
    world.complete().await;
    for id in ids {
        requests::delete_request(&other, world.fixture.account, id).await.expect("a deletion");
    }
    objects::sweep(&other, START, KEPT_MS).await.expect("a sweep");
    let later = START + KEPT_MS;
    let (one, two) =
        tokio::join!(objects::sweep(world.store(), later, KEPT_MS), objects::sweep(&other, later, KEPT_MS));
    assert!(one.expect("a sweep") + two.expect("a sweep") >= 40);
    assert!(world.files().is_empty());
    assert_eq!(world.waiting().await, 0);
    world.fixture.assert_sound().await;
}
