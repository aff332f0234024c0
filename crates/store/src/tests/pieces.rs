//! A batch of many requests is created in pieces, and seen only when it is whole.

use crate::batches::insert::{Begun, InsertPiece, PIECE, Progress, Whole};
use crate::tests::grouping::{group, grouped, new_batch};
use crate::tests::idempotency_keys::{key, write_batch};
use crate::tests::prelude::*;

const PIECES: usize = 3;

/// A batch that is being created, and its pieces so far.
struct Creation {
    id: BatchId,
    ids: Vec<RequestId>,
    whole: Arc<Whole>,
    begun: Option<Begun>,
}

impl Creation {
    async fn new(fixture: &mut Fixture) -> Self {
        let ids = many(fixture).await;
        let batch = new_batch(fixture, &ids).await;
        Self { id: batch.id, ids, whole: Arc::new(Whole::from(batch)), begun: None }
    }

    async fn step(&mut self, fixture: &Fixture) -> Option<NewBatchOutcome> {
        let piece =
            InsertPiece { whole: Arc::clone(&self.whole), begun: self.begun, guard: None, now: START };
        match fixture.store.writer().write(piece).await.expect("a piece").into_done().expect("no key") {
            Progress::Begun(begun) => {
                self.begun = Some(begun);
                None
            }
            Progress::Ended(outcome) => Some(outcome),
        }
    }
}

/// Requests for [`PIECES`] pieces, the last of them of one request.
async fn many(fixture: &mut Fixture) -> Vec<RequestId> {
    let keys: Vec<u8> = (0..=u8::MAX).take((PIECES - 1) * PIECE + 1).collect();
    fixture.insert(&keys).await
}

async fn memberships(fixture: &Fixture, ids: &[RequestId]) -> Vec<Membership> {
    let mut members = batches::resolve(&fixture.store, fixture.account, ids).await.expect("members");
    members.sort_by_key(|member| ids.iter().position(|id| *id == member.id));
    members.into_iter().map(|member| member.membership).collect()
}

async fn batch_of(fixture: &Fixture, id: RequestId) -> Option<BatchId> {
    let found = requests::find_record(&fixture.store, fixture.account, id).await.expect("a read");
    found.expect("the request").batch_id
}

async fn stored_bytes(fixture: &Fixture) -> i64 {
    accounts::get(&fixture.store, fixture.account).await.expect("an account").stored_bytes
}

/// All requests are free, and nothing of a batch is left.
async fn assert_free(fixture: &Fixture, ids: &[RequestId], bytes: i64) {
    assert_eq!(memberships(fixture, ids).await, vec![Membership::None; ids.len()]);
    assert_eq!(stored_bytes(fixture).await, bytes);
    let live = batches::list_live(&fixture.store, fixture.account, 9).await.expect("a list");
    assert_eq!(live, []);
    fixture.assert_sound().await;
}

on_both!(a_batch_is_seen_when_its_last_piece_is_grouped);
async fn a_batch_is_seen_when_its_last_piece_is_grouped(fixture: &mut Fixture) {
    let mut creation = Creation::new(fixture).await;
    let ids = creation.ids.clone();
    for piece in 1..PIECES {
        assert_eq!(creation.step(fixture).await, None);
        let found = batches::find(&fixture.store, fixture.account, creation.id).await.expect("a read");
        assert!(found.is_none());
        assert_eq!(batch_of(fixture, ids[0]).await, None);
        let mut expected = vec![Membership::None; ids.len()];
        expected[..piece * PIECE].fill(Membership::InNewBatch);
        assert_eq!(memberships(fixture, &ids).await, expected);
        assert_eq!(batches::list_deleting(&fixture.store).await.expect("a list"), []);
        fixture.assert_sound().await;
    }
    let Some(NewBatchOutcome::Created(created)) = creation.step(fixture).await else { panic!("no batch") };
    let (seq, found) = fixture.batch(creation.id).await;
    assert_eq!(created, found);
    assert_eq!(found.counters, Counters { registered: ids.len() as i64, ..Counters::default() });
    assert_eq!(batches::list_members(&fixture.store, seq).await.expect("members"), ids);
    assert_eq!(batch_of(fixture, ids[0]).await, Some(creation.id));
}

on_both!(a_list_of_later_batches_misses_none);
async fn a_list_of_later_batches_misses_none(fixture: &mut Fixture) {
    let listed = async |fixture: &Fixture, direction| {
        let page = batches::page(&fixture.store, fixture.account, direction, None).await.expect("a page");
        page.rows.into_iter().map(|(_, batch)| batch.id).collect::<Vec<_>>()
    };
    let mut creation = Creation::new(fixture).await;
    assert_eq!(creation.step(fixture).await, None);
    let small = fixture.insert(&[9]).await;
    let small = grouped(fixture, &small).await.1.id;
    assert_eq!(listed(fixture, Direction::OldestFirst).await, []);
    assert_eq!(listed(fixture, Direction::NewestFirst).await, [small]);
    while creation.step(fixture).await.is_none() {}
    assert_eq!(listed(fixture, Direction::OldestFirst).await, [creation.id, small]);
}

on_both!(what_ends_between_two_pieces_is_counted);
async fn what_ends_between_two_pieces_is_counted(fixture: &mut Fixture) {
    let mut creation = Creation::new(fixture).await;
    let cancel = async |fixture: &Fixture, id| {
        requests::cancel(&fixture.store, fixture.account, id, START + 1).await.expect("a cancel");
    };
    let last = *creation.ids.last().expect("a request");
    assert_eq!(creation.step(fixture).await, None);
    // In the batch already.
    for id in &creation.ids[..PIECE] {
        cancel(fixture, *id).await;
    }
    // Not yet.
    cancel(fixture, last).await;
    assert_eq!(creation.step(fixture).await, None);
    let leases = fixture.release_and_lease().await;
    assert_eq!(leases.len(), PIECE);
    for lease in &leases[1..] {
        assert!(fixture.settle(lease, START + 2).await);
    }
    let Some(NewBatchOutcome::Created(created)) = creation.step(fixture).await else { panic!("no batch") };
    let (completed, cancelled) = (PIECE as i64 - 1, PIECE as i64 + 1);
    let expected = Counters { in_progress: 1, completed, cancelled, ..Counters::default() };
    assert_eq!(created.counters, expected);
    fixture.assert_sound().await;
    assert!(fixture.settle(&leases[0], START + 3).await);
    assert_eq!(fixture.batch(creation.id).await.1.state.completed_at(), Some(START + 3));
}

on_both!(a_batch_whose_requests_all_ended_before_it_was_whole_has_completed);
async fn a_batch_whose_requests_all_ended_before_it_was_whole_has_completed(fixture: &mut Fixture) {
    let mut creation = Creation::new(fixture).await;
    for _ in 1..PIECES {
        assert_eq!(creation.step(fixture).await, None);
    }
    for id in &creation.ids {
        requests::cancel(&fixture.store, fixture.account, *id, START).await.expect("a cancel");
    }
    fixture.assert_sound().await;
    let Some(NewBatchOutcome::Created(created)) = creation.step(fixture).await else { panic!("no batch") };
    assert_eq!(created.state.status(), BatchStatus::Completed);
}

on_both!(requests_of_a_batch_that_cannot_be_created_are_free_again);
async fn requests_of_a_batch_that_cannot_be_created_are_free_again(fixture: &mut Fixture) {
    let ids = many(fixture).await;
    // The queue has one of them, an engine one, and one has ended.
    fixture.release().await;
    requests::cancel(&fixture.store, fixture.account, ids[1], START).await.expect("a cancel");
    let batch = new_batch(fixture, &ids).await;
    let (last, free) = ids.split_last().expect("requests");
    group(fixture, &[*last]).await;
    let before = stored_bytes(fixture).await;
    let outcome = batches::insert(&fixture.store, batch).await.expect("an outcome");
    assert_eq!(outcome, NewBatchOutcome::Changed);
    assert_eq!(memberships(fixture, free).await, vec![Membership::None; free.len()]);
    assert_eq!(stored_bytes(fixture).await, before);
    fixture.assert_sound().await;
    let Some(lease) = fixture.lease().await.pop() else { panic!("nothing waits") };
    assert!(fixture.settle(&lease, START + 1).await);
}

on_both!(a_suspended_account_has_no_batch_in_pieces);
async fn a_suspended_account_has_no_batch_in_pieces(fixture: &mut Fixture) {
    let mut creation = Creation::new(fixture).await;
    let before = stored_bytes(fixture).await;
    assert_eq!(creation.step(fixture).await, None);
    assert!(stored_bytes(fixture).await > before, "the whole batch counts from its first piece on");
    fixture.execute("UPDATE accounts SET suspended_at = 1").await;
    assert_eq!(creation.step(fixture).await, Some(NewBatchOutcome::Suspended));
    batches::take_apart_left(&fixture.store, START + 1..=i64::MAX).await.expect("an end");
    assert_free(fixture, &creation.ids, before).await;
}

on_both!(a_batch_that_nobody_works_on_is_taken_apart);
async fn a_batch_that_nobody_works_on_is_taken_apart(fixture: &mut Fixture) {
    let mut creation = Creation::new(fixture).await;
    let before = stored_bytes(fixture).await;
    for _ in 1..PIECES {
        assert_eq!(creation.step(fixture).await, None);
    }
    requests::cancel(&fixture.store, fixture.account, creation.ids[0], START).await.expect("a cancel");
    fixture.restart().await;
    batches::take_apart_left(&fixture.store, START..=i64::MAX).await.expect("no end");
    assert_eq!(memberships(fixture, &creation.ids).await[0], Membership::InNewBatch);
    batches::take_apart_left(&fixture.store, START + 1..=i64::MAX).await.expect("an end");
    assert_free(fixture, &creation.ids, before).await;
    // Whoever was creating it comes back.
    assert_eq!(creation.step(fixture).await, Some(NewBatchOutcome::Changed));
    assert_free(fixture, &creation.ids, before).await;
}

on_both!(a_batch_that_is_whole_is_never_taken_apart);
async fn a_batch_that_is_whole_is_never_taken_apart(fixture: &mut Fixture) {
    let ids = many(fixture).await;
    group(fixture, &ids).await;
    batches::take_apart_left(&fixture.store, i64::MAX..=i64::MAX).await.expect("no end");
    assert_eq!(memberships(fixture, &ids).await, vec![Membership::InBatch; ids.len()]);
}

on_both!(a_repeat_of_a_batch_in_pieces_is_answered_as_the_first_call);
async fn a_repeat_of_a_batch_in_pieces_is_answered_as_the_first_call(fixture: &mut Fixture) {
    let (ids, others) = (many(fixture).await, many(fixture).await);
    let guard = Some(Guard { key: key(7, 1), write: write_batch });
    let (batch, repeat) = (new_batch(fixture, &ids).await, new_batch(fixture, &others).await);
    let answer = Bytes::from(format!("{} of {}", batch.id, ids.len()));
    batches::insert_once(&fixture.store, batch, guard, || START).await.expect("a batch");
    let before = stored_bytes(fixture).await;
    let repeated = batches::insert_once(&fixture.store, repeat, guard, || START).await.expect("a repeat");
    assert_eq!(repeated, Guarded::Recalled(Recalled::Response(answer)));
    assert_eq!(memberships(fixture, &others).await, vec![Membership::None; others.len()]);
    assert_eq!(stored_bytes(fixture).await, before);
}
