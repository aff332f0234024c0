//! The outbox: what is told of, who tells it, and what is kept of that.

use std::sync::Arc;

use overnight_domain::ids::{BatchId, EventId, RequestId};
use overnight_domain::scheduler::{Lease, Position};
use overnight_domain::webhooks::signature::SigningSecret;
use overnight_domain::webhooks::{Event, EventKind, Lane, Subject};

use super::{DAY_MS, Fixture, START, grouping};
use crate::store::batches::{self, CancelBatchOutcome, NewBatch, NewBatchOutcome};
use crate::store::events::{
    self, Claim, Conclusion, DeliveryFilter, DeliveryRecord, Due, EventFilter, EventRecord, EventState,
    Payload, Replay,
};
use crate::store::requests::{self, NewRequest};
use crate::store::settle::{self, Ending, Settlement};
use crate::store::sql::sql;
use crate::store::{Store, audit, expiry, leases, owners, webhook_secrets};

const HOOK: &str = "https://hooks.example/overnight";

impl Fixture {
    /// Takes in a request whose end is to be told at `webhook`.
    pub(super) async fn insert_told(&mut self, key: u8, webhook: &str) -> RequestId {
        let request = NewRequest { webhook: Some(webhook.to_owned()), ..self.request(key) };
        let id = request.id;
        requests::insert(&self.store, request).await.expect("an insert");
        id
    }

    async fn events(&self) -> Vec<EventRecord> {
        let filter = EventFilter { account: Some(self.account), state: None, limit: 1_000 };
        let mut events = events::list(&self.store, filter).await.expect("the events");
        events.reverse();
        events
    }

    pub(super) async fn due(&self, now: i64) -> Vec<Due> {
        let mut due = Vec::new();
        for (lane, _) in events::list_lanes(&self.store).await.expect("the lanes") {
            due.extend(events::find_due(&self.store, lane, now, 100).await.expect("what is due"));
        }
        due.sort_by_key(|due| due.seq);
        due
    }
}

pub(super) fn claim_of(due: &Due, payload: &[u8]) -> Claim {
    Claim { seq: due.seq, number: due.number, url: due.url.clone(), payload: payload.to_vec() }
}

/// A try that was answered so.
pub(super) fn answered(due: &Due, status: u16, state: EventState, due_at: Option<i64>) -> Conclusion {
    Conclusion {
        seq: due.seq,
        number: due.number + 1,
        started_at: START + 10,
        duration_ms: 3,
        status: Some(status),
        failure: None,
        failures: i64::from(status >= 300),
        state,
        due_at,
        now: START + 13,
    }
}

pub(super) async fn conclude(store: &Store, conclusion: Conclusion) -> bool {
    events::conclude_all(store, Arc::new([conclusion])).await.expect("a conclusion")[0]
}

fn event_of(due: &Due) -> Event {
    match &due.payload {
        Payload::Of(event) => (**event).clone(),
        Payload::Kept(kept) => panic!("it was sent before: {kept:?}"),
    }
}

/// What was told, of what.
async fn told(fixture: &Fixture) -> Vec<(EventKind, String)> {
    let events = fixture.events().await.into_iter();
    events.map(|event| (event.kind, event.subject.expect("what it is about"))).collect()
}

async fn cancel(fixture: &Fixture, id: RequestId, now: i64) {
    requests::cancel(&fixture.store, fixture.account, id, now).await.expect("a cancel");
}

async fn fail(fixture: &Fixture, lease: &Lease, now: i64) {
    let settlement = Settlement { ending: Ending::Failed, ..fixture.settlement(lease, now) };
    assert!(settle::settle(&fixture.store, settlement).await.expect("a settle"));
}

on_both!(every_end_that_somebody_wants_to_know_of_is_told_of_once);
async fn every_end_that_somebody_wants_to_know_of_is_told_of_once(mut fixture: Fixture) {
    let completed = fixture.insert_told(1, HOOK).await;
    let failed = fixture.insert_told(2, HOOK).await;
    fixture.insert(&[3]).await;
    let cancelled = fixture.insert_told(4, HOOK).await;
    fixture.release().await;
    let gathering = fixture.insert_told(5, HOOK).await;
    let leases = fixture.lease().await;
    fixture.settle(&leases[0], START + 10).await;
    fixture.settle(&leases[0], START + 11).await;
    fail(&fixture, &leases[1], START + 12).await;
    fixture.settle(&leases[2], START + 13).await;
    for id in [cancelled, cancelled, gathering] {
        cancel(&fixture, id, START + 14).await;
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
    assert_eq!(told(&fixture).await, wanted.map(|(kind, id)| (kind, id.to_string())));
    fixture.assert_sound().await;
}

on_both!(an_event_says_what_ended_when_and_where_that_is_told);
async fn an_event_says_what_ended_when_and_where_that_is_told(mut fixture: Fixture) {
    let id = fixture.insert_told(1, HOOK).await;
    fixture.release().await;
    let leases = fixture.lease().await;
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
async fn the_end_of_a_batch_is_told_of_once(mut fixture: Fixture) {
    let completed = batch_told(&mut fixture, &[1, 2]).await;
    let cancelled = batch_told(&mut fixture, &[3, 4]).await;
    fixture.release().await;
    for lease in &fixture.lease().await[..2] {
        assert!(fixture.events().await.is_empty());
        assert!(fixture.settle(lease, START + 10).await);
    }
    cancel_batch(&fixture, cancelled).await;
    // Made of what has ended, it has ended too.
    let ended = fixture.insert(&[5]).await;
    cancel(&fixture, ended[0], START + 14).await;
    let made_of_ended = group_told(&mut fixture, &ended).await;
    let wanted = [
        (EventKind::BatchCompleted, completed),
        (EventKind::BatchCancelled, cancelled),
        (EventKind::BatchCompleted, made_of_ended),
    ];
    assert_eq!(told(&fixture).await, wanted.map(|(kind, id)| (kind, id.to_string())));
    let counts = |due: &Due| match event_of(due).subject {
        Subject::Batch(batch) => (batch.counters.completed, batch.counters.cancelled),
        Subject::Request(request) => panic!("{request:?}"),
    };
    let counts: Vec<_> = fixture.due(START + DAY_MS).await.iter().map(counts).collect();
    assert_eq!(counts, [(2, 0), (0, 2), (0, 1)]);
    fixture.assert_sound().await;
}

/// One event that is due.
async fn with_one_event(fixture: &mut Fixture) -> Due {
    let id = fixture.insert_told(1, HOOK).await;
    requests::cancel(&fixture.store, fixture.account, id, START + 5).await.expect("a cancel");
    fixture.due(START + 5).await.remove(0)
}

async fn claim(fixture: &Fixture, due: &Due, payload: &[u8], now: i64) -> usize {
    events::claim(&fixture.store, vec![claim_of(due, payload)], now).await.expect("a claim").len()
}

/// How often in a row an event has failed, as its claim says.
async fn failures_at_claim(fixture: &Fixture, due: &Due) -> i64 {
    let claims = vec![claim_of(due, b"it")];
    events::claim(&fixture.store, claims, START + 20).await.expect("a claim")[&due.seq]
}

on_both!(a_replay_between_a_look_and_its_claim_has_the_whole_schedule_before_it);
async fn a_replay_between_a_look_and_its_claim_has_the_whole_schedule_before_it(mut fixture: Fixture) {
    let due = with_one_event(&mut fixture).await;
    claim(&fixture, &due, b"it", START + 10).await;
    let failed = Conclusion { failures: 8, ..answered(&due, 500, EventState::Live, Some(START + 20)) };
    conclude(&fixture.store, failed).await;
    let again = fixture.due(START + 20).await.remove(0);
    events::replay(&fixture.store, again.id, START + 15).await.expect("a replay");
    assert_eq!(failures_at_claim(&fixture, &again).await, 0);
}

on_both!(an_event_is_claimed_once_and_sent_as_it_was_first);
async fn an_event_is_claimed_once_and_sent_as_it_was_first(mut fixture: Fixture) {
    let due = with_one_event(&mut fixture).await;
    assert_eq!(claim(&fixture, &due, b"first", START + 10).await, 1);
    assert_eq!(claim(&fixture, &due, b"second", START + 10).await, 0, "it is being sent");
    assert!(fixture.due(START + DAY_MS).await.is_empty());
    assert_eq!(fixture.events().await[0].sending_since, Some(START + 10));
    fixture.assert_sound().await;
    let failed = answered(&due, 500, EventState::Live, Some(START + 5_000));
    assert!(conclude(&fixture.store, failed.clone()).await);
    assert!(!conclude(&fixture.store, failed).await, "it is told once what came of a try");
    assert!(fixture.due(START + 4_999).await.is_empty());
    assert_eq!(claim(&fixture, &due, b"second", START + 5_000).await, 0, "it was tried since it was read");
    let again = fixture.due(START + 5_000).await.remove(0);
    assert_eq!(again.number, 1);
    assert_eq!(again.payload, Payload::Kept(b"first".to_vec()));
    fixture.assert_sound().await;
}

async fn tries_of(fixture: &Fixture, event: Option<EventId>) -> Vec<DeliveryRecord> {
    let filter = DeliveryFilter { account: Some(fixture.account), event, limit: 9 };
    let tries = events::list_deliveries(&fixture.store, filter).await.expect("tries");
    let of_all = DeliveryFilter { account: None, ..filter };
    assert_eq!(tries, events::list_deliveries(&fixture.store, of_all).await.expect("tries"));
    tries
}

on_both!(every_try_is_kept);
async fn every_try_is_kept(mut fixture: Fixture) {
    let due = with_one_event(&mut fixture).await;
    claim(&fixture, &due, b"it", START + 10).await;
    conclude(&fixture.store, answered(&due, 500, EventState::Live, Some(START + 20))).await;
    let again = fixture.due(START + 20).await.remove(0);
    claim(&fixture, &again, b"it", START + 20).await;
    conclude(&fixture.store, answered(&again, 204, EventState::Delivered, None)).await;
    let event = fixture.events().await.remove(0);
    assert_eq!((event.state, event.tries, event.ended_at), (EventState::Delivered, 2, Some(START + 13)));
    let tries = tries_of(&fixture, Some(event.id)).await;
    let tries: Vec<_> = tries.iter().map(|it| (it.number, it.status, it.failure.as_deref())).collect();
    assert_eq!(tries, [(2, Some(204), None), (1, Some(500), None)]);
    assert!(events::list_lanes(&fixture.store).await.expect("the lanes").is_empty());
    fixture.assert_sound().await;
}

on_both!(who_died_while_sending_gives_its_events_back);
async fn who_died_while_sending_gives_its_events_back(mut fixture: Fixture) {
    let due = with_one_event(&mut fixture).await;
    events::claim(&fixture.store, vec![claim_of(&due, b"it")], START + 10).await.expect("a claim");
    fixture.restart().await;
    let again = fixture.due(START + 10).await.remove(0);
    assert_eq!(again.number, 1);
    assert_eq!(failures_at_claim(&fixture, &again).await, 0, "it counts for nothing in the schedule");
    conclude(&fixture.store, answered(&again, 200, EventState::Delivered, None)).await;
    assert!(!conclude(&fixture.store, answered(&due, 200, EventState::Delivered, None)).await, "too late");
    let tries = tries_of(&fixture, None).await;
    assert_eq!(tries.len(), 2);
    assert_eq!((tries[1].failure.as_deref(), tries[1].started_at), (Some("interrupted"), START + 10));
    fixture.assert_sound().await;
}

#[tokio::test]
async fn of_two_nodes_one_sends_and_the_dead_one_is_heard_no_more() {
    let mut fixture = Fixture::on_postgres().await;
    let due = with_one_event(&mut fixture).await;
    let (other, _folder) = fixture.node().await;
    let claims = |store: Store| {
        let claim = claim_of(&due, b"it");
        async move { events::claim(&store, vec![claim], START + 10).await.expect("a claim").len() }
    };
    let (ours, theirs) = tokio::join!(claims(fixture.store.clone()), claims(other.clone()));
    assert_eq!(ours + theirs, 1);
    let (sender, survivor) = if ours == 1 { (&fixture.store, &other) } else { (&other, &fixture.store) };
    owners::void_stale(survivor, START, 0).await.expect("a look for the dead");
    assert!(!conclude(sender, answered(&due, 200, EventState::Delivered, None)).await);
    let again =
        events::find_due(survivor, events_lane(&fixture).await, START + 10, 9).await.expect("what is due");
    let taken = events::claim(sender, vec![claim_of(&again[0], b"it")], START + 20).await.expect("a claim");
    assert!(taken.is_empty(), "who is taken for dead takes nothing");
    let taken = events::claim(survivor, vec![claim_of(&again[0], b"it")], START + 20).await.expect("a claim");
    assert!(taken.contains_key(&due.seq));
    assert!(conclude(survivor, answered(&again[0], 200, EventState::Delivered, None)).await);
    fixture.assert_sound().await;
    other.close().await;
}

#[tokio::test]
async fn two_nodes_that_end_the_last_of_a_batch_tell_of_it_once() {
    let mut fixture = Fixture::on_postgres().await;
    let (other, _folder) = fixture.node().await;
    for round in 1..=10 {
        let batch = batch_told(&mut fixture, &[2 * round, 2 * round + 1]).await;
        fixture.release().await;
        let [ours, theirs]: [Position; 2] = fixture.look().await.try_into().expect("two requests");
        let take = |store, position| leases::take(store, fixture.group(), vec![position], START + 1);
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

async fn events_lane(fixture: &Fixture) -> Lane {
    events::list_lanes(&fixture.store).await.expect("the lanes")[0].0
}

/// An event that was tried and given up.
async fn with_one_given_up(fixture: &mut Fixture) -> Due {
    let due = with_one_event(fixture).await;
    claim(fixture, &due, b"it", START + 10).await;
    assert!(conclude(&fixture.store, answered(&due, 410, EventState::Exhausted, None)).await);
    assert!(fixture.due(i64::MAX).await.is_empty());
    due
}

on_both!(what_was_given_up_can_be_told_again);
async fn what_was_given_up_can_be_told_again(mut fixture: Fixture) {
    let id = with_one_given_up(&mut fixture).await.id;
    let replay = |id: EventId| events::replay(&fixture.store, id, START + 99);
    assert_eq!(replay(EventId::from_bits(1)).await.expect("a replay"), Replay::Unknown);
    assert_eq!(replay(id).await.expect("a replay"), Replay::Due);
    let again = fixture.due(START + 99).await.remove(0);
    assert_eq!((again.id, again.number), (id, 1));
    assert_eq!(again.payload, Payload::Kept(b"it".to_vec()));
    assert_eq!(claim(&fixture, &again, b"something else", START + 99).await, 1);
    assert_eq!(replay(id).await.expect("a replay"), Replay::Sending);
    fixture.assert_sound().await;
}

on_both!(all_that_was_given_up_can_be_told_again);
async fn all_that_was_given_up_can_be_told_again(mut fixture: Fixture) {
    with_one_given_up(&mut fixture).await;
    let replayed = || events::replay_exhausted(&fixture.store, fixture.account, START + 200);
    assert_eq!(replayed().await.expect("replays"), 1);
    assert_eq!(replayed().await.expect("replays"), 0);
    let again = fixture.due(START + 200).await.remove(0);
    claim(&fixture, &again, b"something else", START + 200).await;
    conclude(&fixture.store, answered(&again, 500, EventState::Live, Some(START + 300))).await;
    assert_eq!(fixture.due(START + 300).await[0].payload, Payload::Kept(b"it".to_vec()));
    fixture.assert_sound().await;
}

on_both!(a_lane_is_looked_into_however_much_waits_in_others);
async fn a_lane_is_looked_into_however_much_waits_in_others(mut fixture: Fixture) {
    for key in 1..=40 {
        let id = fixture.insert_told(key, &format!("https://h{}.example/", key % 4)).await;
        requests::cancel(&fixture.store, fixture.account, id, START + i64::from(key))
            .await
            .expect("a cancel");
    }
    let lanes = events::list_lanes(&fixture.store).await.expect("the lanes");
    assert!((2..=4).contains(&lanes.len()), "{lanes:?}");
    assert!(lanes.iter().all(|(lane, due_at)| lane.account() == fixture.account.0 && *due_at <= START + 4));
    let mut total = 0;
    for (lane, due_at) in lanes {
        let due = events::find_due(&fixture.store, lane, START + 99, 100).await.expect("what is due");
        assert_eq!(due[0].payload, due[0].payload.clone());
        assert!(
            due.is_sorted_by_key(|due| due.seq)
                && events::find_due(&fixture.store, lane, due_at, 9).await.is_ok()
        );
        total += due.len();
    }
    assert_eq!(total, 40);
}

/// The first byte of every secret that is signed with.
async fn secrets_at(fixture: &Fixture, now: i64) -> Vec<u8> {
    let account = fixture.account;
    let secrets = webhook_secrets::list(&fixture.store, account, now).await.expect("the secrets");
    let several = webhook_secrets::list_of(&fixture.store, &[account.0], now).await.expect("the secrets");
    let bytes: Vec<u8> = secrets.iter().map(|it| it.secret.bytes()[0]).collect();
    assert_eq!(bytes, several[&account.0].iter().map(|it| it.bytes()[0]).collect::<Vec<_>>());
    bytes
}

on_both!(a_secret_is_replaced_with_an_overlap);
async fn a_secret_is_replaced_with_an_overlap(fixture: Fixture) {
    let rotate = |secret, now, overlap_ms| {
        webhook_secrets::rotate(&fixture.store, fixture.account, secret, now, overlap_ms)
    };
    let [eighth, ninth, tenth] = [8, 9, 10].map(|byte| SigningSecret::new([byte; 32]));
    let at = |now| secrets_at(&fixture, now);
    assert_eq!(at(START).await, [7]);
    rotate(&eighth, START, 1_000).await.expect("a new one");
    assert_eq!((at(START + 999).await, at(START + 1_000).await), (vec![8, 7], vec![8]));
    rotate(&ninth, START + 10, 1_000).await.expect("a new one");
    assert_eq!(at(START + 11).await, [9, 8, 7], "what was promised is kept");
    assert_eq!(at(START + 1_001).await, [9, 8]);
    rotate(&tenth, START + 20, 0).await.expect("a new one");
    assert_eq!(at(START + 20).await, [10]);
}

on_both!(the_audit_finds_what_is_wrong_with_events);
async fn the_audit_finds_what_is_wrong_with_events(mut fixture: Fixture) {
    let due = with_one_event(&mut fixture).await;
    events::claim(&fixture.store, vec![claim_of(&due, b"it")], START + 10).await.expect("a claim");
    conclude(&fixture.store, answered(&due, 200, EventState::Delivered, None)).await;
    fixture.assert_sound().await;
    let mut connection = fixture.store.connect().await.expect("a connection");
    for (damage, repair) in [
        ("UPDATE events SET request = request + 9", "UPDATE events SET request = request - 9"),
        ("UPDATE events SET kind = 0", "UPDATE events SET kind = 2"),
        ("UPDATE events SET account = account + 1", "UPDATE events SET account = account - 1"),
        ("UPDATE events SET due_at = 5", "UPDATE events SET due_at = NULL"),
        ("UPDATE events SET state = 0", "UPDATE events SET state = 1"),
        ("UPDATE events SET number = 2", "UPDATE events SET number = 1"),
        ("UPDATE deliveries SET status = 500", "UPDATE deliveries SET status = 200"),
        ("UPDATE deliveries SET failure = 'tls'", "UPDATE deliveries SET failure = NULL"),
        ("UPDATE deliveries SET number = 3", "UPDATE deliveries SET number = 1"),
        ("UPDATE progress SET lane = NULL", "UPDATE progress SET lane = (SELECT lane FROM events)"),
    ] {
        connection.execute(sql(damage)).await.expect("damage");
        let checks = audit::run(&fixture.store).await.expect("an audit");
        assert!(checks.iter().any(|check| check.breaches > 0), "{damage}");
        connection.execute(sql(repair)).await.expect("a repair");
        fixture.assert_sound().await;
    }
}
