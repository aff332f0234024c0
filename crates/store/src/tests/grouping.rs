//! Batches: counters that move with the requests, and a cancel that nothing outruns.

use crate::tests::prelude::*;

pub(super) async fn group(fixture: &mut Fixture, ids: &[RequestId]) -> NewBatchOutcome {
    let batch = new_batch(fixture, ids).await;
    batches::insert(&fixture.store, batch).await.expect("a batch")
}

/// Returns the batch's row number and record.
pub(super) async fn grouped(fixture: &mut Fixture, ids: &[RequestId]) -> (i64, BatchRecord) {
    let id = created(group(fixture, ids).await);
    fixture.batch(id).await
}

pub(super) async fn new_batch(fixture: &mut Fixture, ids: &[RequestId]) -> NewBatch {
    let id = fixture.batch_id();
    let mut members = batches::resolve(&fixture.store, fixture.account, ids).await.expect("members");
    members.sort_by_key(|member| ids.iter().position(|id| *id == member.id));
    NewBatch { id, account: fixture.account, created_at: START, webhook: None, metadata: None, members }
}

fn created(outcome: NewBatchOutcome) -> BatchId {
    match outcome {
        NewBatchOutcome::Created(record) => record.id,
        other => panic!("the batch was not created: {other:?}"),
    }
}

async fn mark(fixture: &Fixture, id: BatchId) -> i64 {
    match batches::cancel(&fixture.store, fixture.account, id, START + 2).await.expect("a cancel") {
        CancelBatchOutcome::Marked { batch } => batch,
        outcome => panic!("the batch was not marked: {outcome:?}"),
    }
}

on_both!(a_batch_follows_its_requests_to_the_end);
async fn a_batch_follows_its_requests_to_the_end(fixture: &mut Fixture) {
    let ids = fixture.insert(&[1, 2, 3]).await;
    let batch = created(group(fixture, &ids).await);
    assert_eq!(fixture.batch(batch).await.1.state.status(), BatchStatus::Registered);
    let leases = fixture.release_and_lease().await;
    let (_, record) = fixture.batch(batch).await;
    assert_eq!(record.counters, Counters { in_progress: 3, ..Counters::default() });
    for lease in &leases[..2] {
        assert!(fixture.settle(lease, START + 5).await);
    }
    requests::cancel(&fixture.store, fixture.account, ids[2], START + 6).await.expect("a cancel");
    let (_, record) = fixture.batch(batch).await;
    assert_eq!(record.counters, Counters { completed: 2, cancelled: 1, ..Counters::default() });
    assert_eq!(record.state.completed_at(), Some(START + 6));
}

on_both!(the_ids_keep_the_order_sent);
async fn the_ids_keep_the_order_sent(fixture: &mut Fixture) {
    let mut ids = fixture.insert(&[1, 2, 3, 4]).await;
    ids.reverse();
    let batch = created(group(fixture, &ids).await);
    let (seq, _) = fixture.batch(batch).await;
    assert_eq!(batches::list_members(&fixture.store, seq).await.expect("members"), ids);
}

on_both!(a_request_belongs_to_one_batch_for_ever);
async fn a_request_belongs_to_one_batch_for_ever(fixture: &mut Fixture) {
    let ids = fixture.insert(&[1, 2, 3]).await;
    created(group(fixture, &ids[..2]).await);
    assert_eq!(group(fixture, &ids[1..]).await, NewBatchOutcome::Changed);
    let members = batches::resolve(&fixture.store, fixture.account, &ids).await.expect("members");
    assert_eq!(members.iter().filter(|member| member.membership == Membership::InBatch).count(), 2);
}

on_both!(nothing_of_a_marked_batch_is_leased_or_settled);
async fn nothing_of_a_marked_batch_is_leased_or_settled(fixture: &mut Fixture) {
    let (ids, running) = fixture.leased(&[1, 2]).await;
    let more = fixture.insert(&[3]).await;
    let batch = created(group(fixture, &[ids[0], more[0]]).await);
    mark(fixture, batch).await;
    assert!(fixture.release_and_lease().await.is_empty());
    assert!(!fixture.settle(&running[0], START + 3).await);
    assert!(fixture.settle(&running[1], START + 3).await);
}

on_both!(a_cancel_that_was_cut_short_is_found_and_carried_through);
async fn a_cancel_that_was_cut_short_is_found_and_carried_through(fixture: &mut Fixture) {
    let ids = fixture.insert(&[1, 2]).await;
    fixture.release_and_lease().await;
    let batch = created(group(fixture, &ids).await);
    let seq = mark(fixture, batch).await;
    fixture.restart().await;
    assert_eq!(batches::list_cancelling(&fixture.store).await.expect("a list"), [seq]);
    let chunk = batches::cancel_chunk(&fixture.store, seq, None, START + 4).await.expect("a chunk");
    assert_eq!((chunk.ended.len(), chunk.next), (2, None));
    assert_eq!(fixture.status(ids[0]).await, RequestStatus::Cancelled);
    let again = batches::cancel(&fixture.store, fixture.account, batch, START + 5).await.expect("a cancel");
    assert_eq!(again, CancelBatchOutcome::Cancelled);
    assert_eq!(fixture.batch(batch).await.1.counters, Counters { cancelled: 2, ..Counters::default() });
}

on_both!(a_completed_batch_cannot_be_cancelled_and_keeps_its_results);
async fn a_completed_batch_cannot_be_cancelled_and_keeps_its_results(fixture: &mut Fixture) {
    let ids = fixture.insert(&[1]).await;
    let lease = fixture.release_and_lease().await.remove(0);
    assert!(fixture.settle(&lease, START + 2).await);
    let batch = created(group(fixture, &ids).await);
    assert_eq!(fixture.batch(batch).await.1.state.status(), BatchStatus::Completed);
    let outcome = batches::cancel(&fixture.store, fixture.account, batch, START + 5).await.expect("a cancel");
    assert_eq!(outcome, CancelBatchOutcome::AlreadyCompleted);
}

on_both!(a_large_batch_is_cancelled_in_chunks);
async fn a_large_batch_is_cancelled_in_chunks(fixture: &mut Fixture) {
    let requests: Vec<_> = (0..2_500u32).map(|n| fixture.request(n.to_le_bytes()[0])).collect();
    let ids: Vec<_> = requests.iter().map(|request| request.id).collect();
    fixture.insert_all(requests).await;
    let batch = created(group(fixture, &ids).await);
    let seq = mark(fixture, batch).await;
    let chunk = async |after| {
        let chunk = batches::cancel_chunk(&fixture.store, seq, after, START + 3).await.expect("a chunk");
        fixture.assert_sound().await;
        ((), chunk.next)
    };
    assert_eq!(walk(chunk).await.len(), 3);
    assert_eq!(fixture.batch(batch).await.1.counters, Counters { cancelled: 2_500, ..Counters::default() });
}
