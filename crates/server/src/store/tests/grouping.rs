//! Batches: counters that move with the requests, and a cancel that nothing outruns.

use overnight_domain::batches::{BatchStatus, Counters};
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::records::BatchRecord;
use overnight_domain::requests::RequestStatus;

use crate::store::batches::{self, CancelBatchOutcome, NewBatch, NewBatchOutcome};
use crate::store::requests;
use crate::store::tests::{Fixture, START};

pub(super) async fn group(fixture: &mut Fixture, ids: &[RequestId]) -> NewBatchOutcome {
    let batch = new_batch(fixture, ids).await;
    batches::insert(&fixture.store, batch).await.expect("a batch")
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

async fn read(fixture: &Fixture, id: BatchId) -> (i64, BatchRecord) {
    batches::find(&fixture.store, fixture.account, id).await.expect("a read").expect("the batch")
}

on_both!(a_batch_follows_its_requests_to_the_end);
async fn a_batch_follows_its_requests_to_the_end(mut fixture: Fixture) {
    let ids = fixture.insert(&[1, 2, 3]).await;
    let batch = created(group(&mut fixture, &ids).await);
    assert_eq!(read(&fixture, batch).await.1.state.status(), BatchStatus::Registered);
    fixture.release().await;
    let leases = fixture.lease().await;
    let (_, record) = read(&fixture, batch).await;
    assert_eq!(record.counters, Counters { in_progress: 3, ..Counters::default() });
    for lease in &leases[..2] {
        assert!(fixture.settle(lease, START + 5).await);
    }
    requests::cancel(&fixture.store, fixture.account, ids[2], START + 6).await.expect("a cancel");
    let (_, record) = read(&fixture, batch).await;
    assert_eq!(record.counters, Counters { completed: 2, cancelled: 1, ..Counters::default() });
    assert_eq!(record.state.completed_at(), Some(START + 6));
    fixture.assert_sound().await;
}

on_both!(the_ids_keep_the_order_sent);
async fn the_ids_keep_the_order_sent(mut fixture: Fixture) {
    let mut ids = fixture.insert(&[1, 2, 3, 4]).await;
    ids.reverse();
    let batch = created(group(&mut fixture, &ids).await);
    let (seq, _) = read(&fixture, batch).await;
    assert_eq!(batches::list_members(&fixture.store, seq).await.expect("members"), ids);
}

on_both!(a_request_belongs_to_one_batch_for_ever);
async fn a_request_belongs_to_one_batch_for_ever(mut fixture: Fixture) {
    let ids = fixture.insert(&[1, 2, 3]).await;
    created(group(&mut fixture, &ids[..2]).await);
    assert_eq!(group(&mut fixture, &ids[1..]).await, NewBatchOutcome::Changed);
    let members = batches::resolve(&fixture.store, fixture.account, &ids).await.expect("members");
    assert_eq!(members.iter().filter(|member| member.is_taken).count(), 2);
    fixture.assert_sound().await;
}

on_both!(nothing_of_a_marked_batch_is_leased_or_settled);
async fn nothing_of_a_marked_batch_is_leased_or_settled(mut fixture: Fixture) {
    let ids = fixture.insert(&[1, 2]).await;
    fixture.release().await;
    let running = fixture.lease().await;
    let more = fixture.insert(&[3]).await;
    let batch = created(group(&mut fixture, &[ids[0], more[0]]).await);
    mark(&fixture, batch).await;
    fixture.release().await;
    assert!(fixture.lease().await.is_empty());
    assert!(!fixture.settle(&running[0], START + 3).await);
    assert!(fixture.settle(&running[1], START + 3).await);
    fixture.assert_sound().await;
}

on_both!(a_cancel_that_was_cut_short_is_found_and_carried_through);
async fn a_cancel_that_was_cut_short_is_found_and_carried_through(mut fixture: Fixture) {
    let ids = fixture.insert(&[1, 2]).await;
    fixture.release().await;
    fixture.lease().await;
    let batch = created(group(&mut fixture, &ids).await);
    let seq = mark(&fixture, batch).await;
    fixture.restart().await;
    assert_eq!(batches::list_cancelling(&fixture.store).await.expect("a list"), [seq]);
    let chunk = batches::cancel_chunk(&fixture.store, seq, None, START + 4).await.expect("a chunk");
    assert_eq!((chunk.ended.len(), chunk.next), (2, None));
    assert_eq!(fixture.status(ids[0]).await, RequestStatus::Cancelled);
    let again = batches::cancel(&fixture.store, fixture.account, batch, START + 5).await.expect("a cancel");
    assert_eq!(again, CancelBatchOutcome::Cancelled);
    assert_eq!(read(&fixture, batch).await.1.counters, Counters { cancelled: 2, ..Counters::default() });
    fixture.assert_sound().await;
}

on_both!(a_completed_batch_cannot_be_cancelled_and_keeps_its_results);
async fn a_completed_batch_cannot_be_cancelled_and_keeps_its_results(mut fixture: Fixture) {
    let ids = fixture.insert(&[1]).await;
    fixture.release().await;
    let lease = fixture.lease().await.remove(0);
    assert!(fixture.settle(&lease, START + 2).await);
    let batch = created(group(&mut fixture, &ids).await);
    assert_eq!(read(&fixture, batch).await.1.state.status(), BatchStatus::Completed);
    let outcome = batches::cancel(&fixture.store, fixture.account, batch, START + 5).await.expect("a cancel");
    assert_eq!(outcome, CancelBatchOutcome::AlreadyCompleted);
    fixture.assert_sound().await;
}

on_both!(a_large_batch_is_cancelled_in_chunks);
async fn a_large_batch_is_cancelled_in_chunks(mut fixture: Fixture) {
    let requests: Vec<_> = (0..2_500u32).map(|n| fixture.request(n.to_le_bytes()[0])).collect();
    let ids: Vec<_> = requests.iter().map(|request| request.id).collect();
    fixture.insert_all(requests).await;
    let batch = created(group(&mut fixture, &ids).await);
    let seq = mark(&fixture, batch).await;
    let (mut after, mut chunks) = (None, 0);
    loop {
        let chunk = batches::cancel_chunk(&fixture.store, seq, after, START + 3).await.expect("a chunk");
        chunks += 1;
        fixture.assert_sound().await;
        let Some(next) = chunk.next else { break };
        after = Some(next);
    }
    assert_eq!(chunks, 3);
    assert_eq!(read(&fixture, batch).await.1.counters, Counters { cancelled: 2_500, ..Counters::default() });
}
