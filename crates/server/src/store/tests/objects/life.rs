//! When objects are put, used and deleted, and what a crash or a refusal leaves of them.

use std::fs;

use bytes::Bytes;
use overnight_domain::quotas::{Quota, Quotas};
use overnight_domain::records::RequestSummary;

use crate::store::batches::Filled;
use crate::store::database::Tx;
use crate::store::idempotency_keys::{Guard, Guarded, IdempotencyKey, Recalled};
use crate::store::ledger::holds::Admission;
use crate::store::objects::{self, table};
use crate::store::queue::settle::{self, Settlement};
use crate::store::requests::Due;
use crate::store::tests::objects::{KEPT_MS, World, is_away, large_body, large_result};
use crate::store::tests::{DAY_MS, Fixture, START, filling, open};
use crate::store::{StoreError, StoreOptions, closing, requests};

on_both!(an_answer_that_cannot_be_put_is_stored_in_the_database);
async fn an_answer_that_cannot_be_put_is_stored_in_the_database(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    let first = world.insert_large(1).await;
    let come_back = world.take_away();
    world.complete().await;
    assert_eq!(world.are_beside("results").await, [false]);
    come_back();
    assert_eq!(world.find(first).await.expect("a read").result, Some(large_result()));
    world.insert_large(2).await;
    world.complete().await;
    assert_eq!(world.are_beside("results").await, [false, true]);
    // What could not be put may be there nevertheless.
    assert_eq!(world.waiting().await, 1);
    world.sweep(START + DAY_MS + 2).await;
    assert_eq!((world.files().len(), world.waiting().await), (3, 0));
    world.fixture.assert_sound().await;
}

on_both!(what_was_put_and_never_used_is_deleted_after_a_day_and_used_no_more);
async fn what_was_put_and_never_used_is_deleted_after_a_day_and_used_no_more(fixture: Fixture) {
    let mut world = World::over(fixture).await;
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
async fn what_is_deleted_is_kept_for_backups_and_then_deleted_for_sure(fixture: Fixture) {
    let mut world = World::over(fixture).await;
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
async fn a_crash_between_the_deletion_of_an_object_and_of_its_row_only_repeats_it(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    world.insert_large(1).await;
    world.complete().await;
    let due = Due { account: world.fixture.account, before: requests::FOR_EVER };
    assert_eq!(requests::delete_ended(world.store(), due).await.expect("a deletion"), 1);
    world.sweep(START).await;
    fs::remove_file(world.files().remove(0)).expect("the first is deleted, and its row is not");
    world.fixture.restart().await;
    assert_eq!(world.sweep(START + KEPT_MS).await, 2);
    assert_eq!((world.files().len(), world.waiting().await), (0, 0));
    world.fixture.assert_sound().await;
}

on_both!(of_an_erased_account_nothing_is_left_under_its_prefix);
async fn of_an_erased_account_nothing_is_left_under_its_prefix(fixture: Fixture) {
    let mut world = World::over(fixture).await;
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

on_both!(what_is_refused_leaves_no_object_and_counts_for_nothing);
async fn what_is_refused_leaves_no_object_and_counts_for_nothing(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    world.fixture.options.quotas = Quotas::default().with(Quota::StoredBytes, Some(50_000));
    world.fixture.restart().await;
    world.insert_large(1).await;
    world.insert_large(2).await;
    let request = world.large(3);
    let admission = requests::insert(world.store(), request).await.expect("an answer");
    assert!(matches!(admission, Admission::OverQuota(_)), "bytes beside the database count: {admission:?}");
    assert_eq!((world.files().len(), world.waiting().await), (2, 0), "it was put nowhere");
    filling::made(&mut world.fixture, &["1\n"]).await;
    let claimed = filling::claim(&world.fixture, START, START).await.expect("a batch to be filled");
    let mut step = filling::step(&mut world.fixture, claimed, &[true], true);
    step.lines[0].as_mut().expect("a line").request.body = large_body(9);
    assert!(matches!(filling::fill(world.store(), step).await, Filled::OverQuota(_)));
    assert_eq!((world.files().len(), world.waiting().await), (2, 0), "it was put nowhere");
    world.fixture.assert_sound().await;
}

on_both!(a_repeat_of_a_create_is_answered_where_its_account_may_have_no_more);
async fn a_repeat_of_a_create_is_answered_where_its_account_may_have_no_more(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    world.fixture.options.quotas = Quotas::default().with(Quota::LiveRequests, Some(1));
    world.fixture.restart().await;
    let (first, repeat, other) = (world.large(1), world.large(1), world.large(2));
    let guard = |hash| {
        let key = IdempotencyKey { hash: [hash; 32], digest: [1; 32] };
        let write = |request: &RequestSummary, out: &mut Vec<u8>| out.extend(request.id.to_string().bytes());
        Some(Guard { key, write })
    };
    let id = first.id;
    let insert = |request, guard| requests::insert_once(world.store(), request, guard);
    assert_eq!(insert(first, guard(1)).await.expect("a create"), Guarded::Done(Admission::Taken));
    let recalled = insert(repeat, guard(1)).await.expect("a repeat");
    let response = Recalled::Response(Bytes::from(id.to_string()));
    assert_eq!(recalled, Guarded::Recalled(response));
    let refused = insert(other, guard(2)).await.expect("an answer");
    assert!(matches!(refused, Guarded::Done(Admission::OverQuota(_))), "{refused:?}");
    assert_eq!((world.files().len(), world.waiting().await), (1, 0));
    world.fixture.assert_sound().await;
}

on_both!(an_object_that_is_being_deleted_is_used_no_more);
async fn an_object_that_is_being_deleted_is_used_no_more(fixture: Fixture) {
    let mut world = World::over(fixture).await;
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
    world.fixture.assert_sound().await;
}

on_both!(one_that_the_object_store_refuses_to_delete_keeps_no_others);
async fn one_that_the_object_store_refuses_to_delete_keeps_no_others(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    let ids = [world.insert_large(1).await, world.insert_large(2).await, world.insert_large(3).await];
    world.complete().await;
    for id in ids {
        world.delete(id).await;
    }
    world.sweep(START).await;
    // No folder can be deleted as a file is.
    let refused = format!("{}#1", world.files()[0].display());
    fs::create_dir(&refused).expect("a folder in the place of what a put left");
    let later = START + KEPT_MS;
    objects::sweep(world.store(), later, KEPT_MS).await.expect_err("one is refused");
    assert_eq!((world.files().len(), world.waiting().await), (0, 1));
    assert_eq!(world.sweep(later).await, 0, "it waits");
    fs::remove_dir(&refused).expect("the folder goes");
    assert_eq!(world.sweep(later + 60 * 60 * 1_000).await, 1);
    assert_eq!(world.waiting().await, 0);
}

on_both!(results_that_wait_for_the_object_store_hold_so_much_memory_and_no_more);
async fn results_that_wait_for_the_object_store_hold_so_much_memory_and_no_more(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    world.fixture.insert(&[1, 2]).await;
    world.fixture.release().await;
    let leases = world.fixture.lease().await;
    let settle = async |lease| {
        let settlement = world.fixture.settlement(lease, START + 2);
        settle::settle(world.store(), Settlement { body: large_result(), ..settlement }).await
    };
    let objects = world.store().objects();
    let held = objects.hold_all_but(large_result().len() - 1);
    assert!(settle(&leases[0]).await.expect("a settle"));
    assert_eq!(world.are_beside("results").await, [false]);
    drop(held);
    let _held = objects.hold_all_but(large_result().len());
    assert!(settle(&leases[1]).await.expect("a settle"));
    assert_eq!(world.are_beside("results").await, [false, true]);
    world.fixture.assert_sound().await;
}

on_both!(a_lease_that_is_lost_leaves_no_object);
async fn a_lease_that_is_lost_leaves_no_object(fixture: Fixture) {
    let mut world = World::over(fixture).await;
    world.fixture.insert(&[1]).await;
    world.fixture.release().await;
    let lease = world.fixture.lease().await.pop().expect("a lease");
    let settlement = world.fixture.settlement(&lease, START + 2);
    let settlement = Settlement { body: large_result(), ..settlement };
    assert!(settle::settle(world.store(), settlement.clone()).await.expect("a settle"));
    assert!(!settle::settle(world.store(), settlement).await.expect("a settle"));
    assert_eq!((world.files().len(), world.sweep(START).await, world.files().len()), (2, 1, 1));
    world.fixture.assert_sound().await;
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
