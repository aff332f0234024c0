//! What is refused, what waits, and what is left of both.

use overnight_base::clock::Clock;

use crate::tests::filling;
use crate::tests::objects::{HOUR_MS, KEPT_MS, World, large_body, large_result};
use crate::tests::prelude::*;

on_both!(what_is_refused_leaves_no_object_and_counts_for_nothing);
async fn what_is_refused_leaves_no_object_and_counts_for_nothing(world: &mut World) {
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
}

on_both!(a_create_whose_object_cannot_be_put_is_refused);
async fn a_create_whose_object_cannot_be_put_is_refused(world: &mut World) {
    let taken = world.insert_large(1).await;
    // By the clock of a fixture on SQLite, which stands, or on PostgreSQL, which does not.
    let started = if world.store().is_shared() { SystemClock.now() } else { START };
    let account = world.objects().join(world.fixture.account.0.to_string());
    let elsewhere = world.folder.path().join("elsewhere");
    fs::rename(&account, &elsewhere).expect("a move");
    fs::write(&account, b"no folder").expect("a file in its place");
    let request = world.large(2);
    let refused = request.id;
    requests::insert(world.store(), request).await.expect_err("it is put nowhere");
    let found = requests::find_summary(world.store(), world.fixture.account, refused).await.expect("a read");
    assert!(found.is_none(), "nothing was taken");
    fs::remove_file(&account).expect("the file goes");
    fs::rename(&elsewhere, &account).expect("a move");
    assert_eq!(world.find(taken).await.expect("a read").body, large_body(1));
    assert_eq!(world.waiting().await, 1, "it may be there nevertheless");
    assert_eq!(world.sweep(started + HOUR_MS - 1).await, 0, "and be put in this moment");
    assert_eq!((world.sweep(started + 2 * HOUR_MS).await, world.waiting().await), (1, 0));
}

on_both!(a_repeat_of_a_create_is_answered_where_its_account_may_have_no_more);
async fn a_repeat_of_a_create_is_answered_where_its_account_may_have_no_more(world: &mut World) {
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
}

on_both!(what_was_put_for_a_call_that_was_done_before_is_deleted_at_once);
async fn what_was_put_for_a_call_that_was_done_before_is_deleted_at_once(world: &mut World) {
    let write = |request: &RequestSummary, out: &mut Vec<u8>| out.extend(request.id.to_string().bytes());
    let guard = Guard { key: IdempotencyKey { hash: [1; 32], digest: [1; 32] }, write };
    let (first, repeat) = (world.large(1), world.large(1));
    for (request, files) in [(first, 1), (repeat, 2)] {
        requests::insert_once(world.store(), request, Some(guard)).await.expect("an answer");
        assert_eq!(world.files().len(), files);
    }
    assert_eq!((world.sweep(START).await, world.files().len(), world.waiting().await), (1, 1, 0));
}

on_both!(one_that_the_object_store_refuses_to_delete_keeps_no_others);
async fn one_that_the_object_store_refuses_to_delete_keeps_no_others(world: &mut World) {
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
    assert_eq!(world.sweep(later + HOUR_MS).await, 1);
    assert_eq!(world.waiting().await, 0);
}

on_both!(results_that_wait_for_the_object_store_hold_so_much_memory_and_no_more);
async fn results_that_wait_for_the_object_store_hold_so_much_memory_and_no_more(world: &mut World) {
    let leases = world.fixture.leased(&[1, 2]).await.1;
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
}

on_both!(a_lease_that_is_lost_leaves_no_object);
async fn a_lease_that_is_lost_leaves_no_object(world: &mut World) {
    let lease = world.fixture.leased(&[1]).await.1.pop().expect("a lease");
    let settlement = world.fixture.settlement(&lease, START + 2);
    let settlement = Settlement { body: large_result(), ..settlement };
    assert!(settle::settle(world.store(), settlement.clone()).await.expect("a settle"));
    assert!(!settle::settle(world.store(), settlement).await.expect("a settle"));
    assert_eq!((world.files().len(), world.sweep(START).await, world.files().len()), (2, 1, 1));
}
