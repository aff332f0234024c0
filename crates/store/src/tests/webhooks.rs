//! The outbox: what is told of.

use overnight_domain::webhooks::{Event, Subject};

use crate::outbox::EventRecord;
use crate::tests::grouping;
use crate::tests::prelude::*;

pub(super) const HOOK: &str = "https://hooks.example/overnight";

impl Fixture {
    /// Takes in a request whose end is to be told at `webhook`.
    pub(super) async fn insert_told(&mut self, key: u8, webhook: &str) -> RequestId {
        let mut request = self.request(key);
        request.client.webhook = Some(webhook.to_owned());
        self.put(request).await
    }

    pub(super) async fn events(&self) -> Vec<EventRecord> {
        let filter = EventFilter { account: Some(self.account), state: None, before: None, limit: 1_000 };
        let mut events = outbox::list(&self.store, filter).await.expect("the events").rows;
        events.reverse();
        events
    }

    pub(super) async fn due(&self, now: i64) -> Vec<Due> {
        let mut due = Vec::new();
        for (lane, _) in outbox::list_lanes(&self.store).await.expect("the lanes") {
            due.extend(outbox::find_due(&self.store, lane, now, 100).await.expect("what is due"));
        }
        due.sort_by_key(|due| due.seq);
        due
    }
}

fn event_of(due: &Due) -> Event {
    match &due.payload {
        Payload::Of(event) => (**event).clone(),
        Payload::Kept(kept) => panic!("it was sent before: {kept:?}"),
    }
}

async fn told(fixture: &Fixture) -> Vec<(EventKind, String)> {
    let events = fixture.events().await.into_iter();
    events.map(|event| (event.kind, event.subject.expect("what it is about"))).collect()
}

pub(super) async fn cancel(fixture: &Fixture, id: RequestId, now: i64) {
    requests::cancel(&fixture.store, fixture.account, id, now).await.expect("a cancel");
}

async fn fail(fixture: &Fixture, lease: &Lease, now: i64) {
    let settlement = Settlement { ending: Ending::Failed, ..fixture.settlement(lease, now) };
    assert!(settle::settle(&fixture.store, settlement).await.expect("a settle"));
}

on_both!(every_end_that_somebody_wants_to_know_of_is_told_of_once);
async fn every_end_that_somebody_wants_to_know_of_is_told_of_once(fixture: &mut Fixture) {
    let completed = fixture.insert_told(1, HOOK).await;
    let failed = fixture.insert_told(2, HOOK).await;
    fixture.insert(&[3]).await;
    let cancelled = fixture.insert_told(4, HOOK).await;
    fixture.release().await;
    let gathering = fixture.insert_told(5, HOOK).await;
    let leases = fixture.lease().await;
    fixture.settle(&leases[0], START + 10).await;
    fixture.settle(&leases[0], START + 11).await;
    fail(fixture, &leases[1], START + 12).await;
    fixture.settle(&leases[2], START + 13).await;
    for id in [cancelled, cancelled, gathering] {
        cancel(fixture, id, START + 14).await;
    }
    fixture.settle(&leases[3], START + 15).await;
    let expired = fixture.insert_told(6, HOOK).await;
    expiry::expire(&fixture.store, START + DAY_MS, 10, b"{}".to_vec()).await.expect("an expiry");
    let wanted = [
        (EventKind::RequestCompleted, completed),
        (EventKind::RequestFailed, failed),
        (EventKind::RequestCancelled, cancelled),
        (EventKind::RequestCancelled, gathering),
        (EventKind::RequestFailed, expired),
    ];
    assert_eq!(told(fixture).await, wanted.map(|(kind, id)| (kind, id.to_string())));
}

on_both!(who_sends_events_is_woken_when_one_is_written);
async fn who_sends_events_is_woken_when_one_is_written(fixture: &mut Fixture) {
    let id = fixture.insert_told(1, HOOK).await;
    let told_of_nothing = fixture.insert(&[2]).await[0];
    cancel(fixture, told_of_nothing, START + 1).await;
    assert_eq!(fixture.store.events_written().now_or_never(), None);
    for (id, ms) in [(id, 2), (fixture.insert_told(3, HOOK).await, 3)] {
        cancel(fixture, id, START + ms).await;
        let woken = tokio::time::timeout(Duration::from_secs(10), fixture.store.events_written()).await;
        assert!(woken.is_ok(), "nobody is woken");
    }
}

on_both!(an_event_says_what_ended_when_and_where_that_is_told);
async fn an_event_says_what_ended_when_and_where_that_is_told(fixture: &mut Fixture) {
    let id = fixture.insert_told(1, HOOK).await;
    let leases = fixture.release_and_lease().await;
    assert!(fixture.due(START + DAY_MS).await.is_empty());
    fixture.settle(&leases[0], START + 10).await;
    assert!(fixture.due(START + 9).await.is_empty());
    let due = fixture.due(START + 10).await.remove(0);
    let event = event_of(&due);
    assert_eq!((event.created_at, due.url.as_str(), due.number), (START + 10, HOOK, 0));
    let Subject::Request(summary) = event.subject else { panic!("{event:?}") };
    assert_eq!((summary.id, summary.state.ended_at()), (id, Some(START + 10)));
}

/// A batch of new requests whose end is to be told.
async fn batch_told(fixture: &mut Fixture, keys: &[u8]) -> BatchId {
    let ids = fixture.insert(keys).await;
    group_told(fixture, &ids).await
}

async fn group_told(fixture: &mut Fixture, ids: &[RequestId]) -> BatchId {
    let batch = grouping::new_batch(fixture, ids).await;
    let batch = NewBatch { webhook: Some(HOOK.to_owned()), ..batch };
    let id = batch.id;
    let made = batches::insert(&fixture.store, batch).await.expect("a batch");
    assert!(matches!(made, NewBatchOutcome::Created(_)));
    id
}

/// Marks a batch, and ends its requests twice over.
async fn cancel_batch(fixture: &Fixture, id: BatchId) {
    let cancel = batches::cancel(&fixture.store, fixture.account, id, START + 12).await;
    let Ok(CancelBatchOutcome::Marked { batch }) = cancel else { panic!("{cancel:?}") };
    assert_eq!(fixture.events().await.len(), 1, "its requests have not ended");
    for _ in 0..2 {
        batches::cancel_chunk(&fixture.store, batch, None, START + 13).await.expect("a chunk");
    }
}

on_both!(the_end_of_a_batch_is_told_of_once);
async fn the_end_of_a_batch_is_told_of_once(fixture: &mut Fixture) {
    let completed = batch_told(fixture, &[1, 2]).await;
    let cancelled = batch_told(fixture, &[3, 4]).await;
    for lease in &fixture.release_and_lease().await[..2] {
        assert!(fixture.events().await.is_empty());
        assert!(fixture.settle(lease, START + 10).await);
    }
    cancel_batch(fixture, cancelled).await;
    // Made of what has ended, it has ended too.
    let ended = fixture.insert(&[5]).await;
    cancel(fixture, ended[0], START + 14).await;
    let made_of_ended = group_told(fixture, &ended).await;
    let wanted = [
        (EventKind::BatchCompleted, completed),
        (EventKind::BatchCancelled, cancelled),
        (EventKind::BatchCompleted, made_of_ended),
    ];
    assert_eq!(told(fixture).await, wanted.map(|(kind, id)| (kind, id.to_string())));
    let counts = |due: &Due| match event_of(due).subject {
        Subject::Batch(batch) => (batch.counters.completed, batch.counters.cancelled),
        other => panic!("{other:?}"),
    };
    let counts: Vec<_> = fixture.due(START + DAY_MS).await.iter().map(counts).collect();
    assert_eq!(counts, [(2, 0), (0, 2), (0, 1)]);
}

#[tokio::test]
async fn two_nodes_that_end_the_last_of_a_batch_tell_of_it_once() {
    let (mut fixture, other, _folder) = Fixture::with_node().await;
    for round in 1..=10 {
        let batch = batch_told(&mut fixture, &[2 * round, 2 * round + 1]).await;
        fixture.release().await;
        let [ours, theirs]: [Position; 2] = fixture.look().await.try_into().expect("two requests");
        let take = |store, position| leases::take(store, fixture.partition(), vec![position], START + 1);
        let ours = take(&fixture.store, ours).await.expect("a lease").leases.remove(0);
        let theirs = take(&other, theirs).await.expect("a lease").leases.remove(0);
        let settle_theirs = settle::settle(&other, fixture.settlement(&theirs, START + 10));
        let (first, second) = tokio::join!(fixture.settle(&ours, START + 10), settle_theirs);
        assert!(first && second.expect("a settle"));
        let told = told(&fixture).await;
        assert_eq!(told.last(), Some(&(EventKind::BatchCompleted, batch.to_string())));
        assert_eq!(told.len(), usize::from(round));
    }
    let cancelled = batch_told(&mut fixture, &[51, 52, 53]).await;
    let cancel = batches::cancel(&fixture.store, fixture.account, cancelled, START + 12).await;
    let Ok(CancelBatchOutcome::Marked { batch }) = cancel else { panic!("{cancel:?}") };
    let chunk = |store| batches::cancel_chunk(store, batch, None, START + 13);
    let (first, second) = tokio::join!(chunk(&fixture.store), chunk(&other));
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(told(&fixture).await.len(), 11);
    fixture.assert_sound().await;
    other.close().await;
}
