//! Events on their way: claimed, tried, given back, given up, told again.

use overnight_domain::webhooks::DeliveryLane;

use crate::outbox::{AttemptResult, DeliveryRecord, Replay};
use crate::tests::prelude::*;
use crate::tests::webhooks::{HOOK, cancel};

pub(super) fn claim_of(due: &Due, payload: &[u8]) -> Claim {
    Claim { seq: due.seq, number: due.number, url: due.url.clone(), payload: Bytes::copy_from_slice(payload) }
}

pub(super) fn answered(due: &Due, status: u16, state: EventState, due_at: Option<i64>) -> AttemptResult {
    AttemptResult {
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

pub(super) async fn record(store: &Store, result: AttemptResult) -> bool {
    outbox::record_attempt_results(store, Arc::new([result])).await.expect("a result")[0]
}

async fn with_one_event(fixture: &mut Fixture) -> Due {
    let id = fixture.insert_told(1, HOOK).await;
    cancel(fixture, id, START + 5).await;
    fixture.due(START + 5).await.remove(0)
}

async fn claim(fixture: &Fixture, due: &Due, payload: &[u8], now: i64) -> usize {
    outbox::claim(&fixture.store, vec![claim_of(due, payload)], now).await.expect("a claim").len()
}

/// Consecutive failures of an event, as its claim says.
async fn failures_at_claim(fixture: &Fixture, due: &Due) -> i64 {
    let claims = vec![claim_of(due, b"it")];
    outbox::claim(&fixture.store, claims, START + 20).await.expect("a claim")[&due.seq].failures
}

on_both!(a_replay_between_a_look_and_its_claim_has_the_whole_schedule_before_it);
async fn a_replay_between_a_look_and_its_claim_has_the_whole_schedule_before_it(fixture: &mut Fixture) {
    let due = with_one_event(fixture).await;
    claim(fixture, &due, b"it", START + 10).await;
    let failed = AttemptResult { failures: 8, ..answered(&due, 500, EventState::Live, Some(START + 20)) };
    record(&fixture.store, failed).await;
    let again = fixture.due(START + 20).await.remove(0);
    outbox::replay(&fixture.store, None, again.id, START + 15).await.expect("a replay");
    assert_eq!(failures_at_claim(fixture, &again).await, 0);
}

on_both!(an_event_is_claimed_once_and_sent_as_it_was_first);
async fn an_event_is_claimed_once_and_sent_as_it_was_first(fixture: &mut Fixture) {
    let due = with_one_event(fixture).await;
    assert_eq!(claim(fixture, &due, b"first", START + 10).await, 1);
    assert_eq!(claim(fixture, &due, b"second", START + 10).await, 0, "it is being sent");
    assert!(fixture.due(START + DAY_MS).await.is_empty());
    assert_eq!(fixture.events().await[0].sending_since, Some(START + 10));
    fixture.assert_sound().await;
    let failed = answered(&due, 500, EventState::Live, Some(START + 5_000));
    assert!(record(&fixture.store, failed.clone()).await);
    assert!(!record(&fixture.store, failed).await, "it is told once what came of a try");
    assert!(fixture.due(START + 4_999).await.is_empty());
    assert_eq!(claim(fixture, &due, b"second", START + 5_000).await, 0, "it was tried since it was read");
    let again = fixture.due(START + 5_000).await.remove(0);
    assert_eq!(again.number, 1);
    assert_eq!(again.payload, Payload::Kept(Bytes::from_static(b"first")));
}

async fn tries_of(fixture: &Fixture, event: Option<EventId>) -> Vec<DeliveryRecord> {
    let filter = DeliveryFilter { account: Some(fixture.account), event, before: None, limit: 200 };
    let tries = outbox::list_deliveries(&fixture.store, filter).await.expect("tries");
    let of_all = DeliveryFilter { account: None, ..filter };
    assert_eq!(tries, outbox::list_deliveries(&fixture.store, of_all).await.expect("tries"));
    tries
}

on_both!(every_try_is_kept);
async fn every_try_is_kept(fixture: &mut Fixture) {
    let due = with_one_event(fixture).await;
    claim(fixture, &due, b"it", START + 10).await;
    record(&fixture.store, answered(&due, 500, EventState::Live, Some(START + 20))).await;
    let again = fixture.due(START + 20).await.remove(0);
    claim(fixture, &again, b"it", START + 20).await;
    record(&fixture.store, answered(&again, 204, EventState::Delivered, None)).await;
    let event = fixture.events().await.remove(0);
    assert_eq!((event.state, event.tries, event.ended_at), (EventState::Delivered, 2, Some(START + 13)));
    let tries = tries_of(fixture, Some(event.id)).await;
    let tries: Vec<_> = tries.iter().map(|it| (it.number, it.status, it.failure.as_deref())).collect();
    assert_eq!(tries, [(2, Some(204), None), (1, Some(500), None)]);
    assert!(outbox::list_lanes(&fixture.store).await.expect("the lanes").is_empty());
}

on_both!(tries_beyond_the_newest_hundred_are_deleted);
async fn tries_beyond_the_newest_hundred_are_deleted(fixture: &mut Fixture) {
    with_one_event(fixture).await;
    for number in 1..=105 {
        let due = fixture.due(START + 10).await.remove(0);
        claim(fixture, &due, b"it", START + 10).await;
        assert!(
            record(&fixture.store, answered(&due, 500, EventState::Live, Some(START + 10))).await,
            "{number}"
        );
    }
    let event = fixture.events().await.remove(0);
    let numbers: Vec<_> = tries_of(fixture, Some(event.id)).await.iter().map(|it| it.number).collect();
    assert_eq!(numbers, (6..=105).rev().collect::<Vec<_>>());
}

on_both!(who_died_while_sending_gives_its_events_back);
async fn who_died_while_sending_gives_its_events_back(fixture: &mut Fixture) {
    let due = with_one_event(fixture).await;
    outbox::claim(&fixture.store, vec![claim_of(&due, b"it")], START + 10).await.expect("a claim");
    fixture.restart().await;
    let again = fixture.due(START + 10).await.remove(0);
    assert_eq!(again.number, 1);
    assert_eq!(failures_at_claim(fixture, &again).await, 0, "it counts for nothing in the schedule");
    record(&fixture.store, answered(&again, 200, EventState::Delivered, None)).await;
    assert!(!record(&fixture.store, answered(&due, 200, EventState::Delivered, None)).await, "too late");
    let tries = tries_of(fixture, None).await;
    assert_eq!(tries.len(), 2);
    assert_eq!((tries[1].failure.as_deref(), tries[1].started_at), (Some("interrupted"), START + 10));
}

#[tokio::test]
async fn of_two_nodes_one_sends_and_the_dead_one_is_heard_no_more() {
    let mut fixture = Fixture::on_postgres().await;
    let due = with_one_event(&mut fixture).await;
    let (other, _folder) = fixture.node().await;
    let claims = |store: Store| {
        let claim = claim_of(&due, b"it");
        async move { outbox::claim(&store, vec![claim], START + 10).await.expect("a claim").len() }
    };
    let (ours, theirs) = tokio::join!(claims(fixture.store.clone()), claims(other.clone()));
    assert_eq!(ours + theirs, 1);
    let (sender, survivor) = if ours == 1 { (&fixture.store, &other) } else { (&other, &fixture.store) };
    nodes::reclaim_stale(survivor, START, 0).await.expect("a look for the dead");
    assert!(!record(sender, answered(&due, 200, EventState::Delivered, None)).await);
    let again =
        outbox::find_due(survivor, events_lane(&fixture).await, START + 10, 9).await.expect("what is due");
    let taken = outbox::claim(sender, vec![claim_of(&again[0], b"it")], START + 20).await.expect("a claim");
    assert!(taken.is_empty(), "who is taken for dead takes nothing");
    let taken = outbox::claim(survivor, vec![claim_of(&again[0], b"it")], START + 20).await.expect("a claim");
    assert!(taken.contains_key(&due.seq));
    assert!(record(survivor, answered(&again[0], 200, EventState::Delivered, None)).await);
    fixture.assert_sound().await;
    other.close().await;
}

async fn events_lane(fixture: &Fixture) -> DeliveryLane {
    outbox::list_lanes(&fixture.store).await.expect("the lanes")[0].0
}

async fn with_one_given_up(fixture: &mut Fixture) -> Due {
    let due = with_one_event(fixture).await;
    claim(fixture, &due, b"it", START + 10).await;
    assert!(record(&fixture.store, answered(&due, 410, EventState::Exhausted, None)).await);
    assert!(fixture.due(i64::MAX).await.is_empty());
    for (since, count) in [(START + 12, 1), (START + 13, 0)] {
        assert_eq!(outbox::count_exhausted(&fixture.store, since).await.expect("a count"), count);
    }
    due
}

on_both!(what_was_given_up_can_be_told_again);
async fn what_was_given_up_can_be_told_again(fixture: &mut Fixture) {
    let id = with_one_given_up(fixture).await.id;
    let replay = |id: EventId| outbox::replay(&fixture.store, Some(fixture.account), id, START + 99);
    assert_eq!(replay(EventId::from_bits(1)).await.expect("a replay"), Replay::Unknown);
    assert_eq!(replay(id).await.expect("a replay"), Replay::Due);
    let again = fixture.due(START + 99).await.remove(0);
    assert_eq!((again.id, again.number), (id, 1));
    assert_eq!(again.payload, Payload::Kept(Bytes::from_static(b"it")));
    assert_eq!(claim(fixture, &again, b"something else", START + 99).await, 1);
    assert_eq!(replay(id).await.expect("a replay"), Replay::Sending);
}

on_both!(all_that_was_given_up_can_be_told_again);
async fn all_that_was_given_up_can_be_told_again(fixture: &mut Fixture) {
    with_one_given_up(fixture).await;
    let replayed = || outbox::replay_exhausted(&fixture.store, fixture.account, START + 200);
    assert_eq!(replayed().await.expect("replays"), 1);
    assert_eq!(replayed().await.expect("replays"), 0);
    let again = fixture.due(START + 200).await.remove(0);
    claim(fixture, &again, b"something else", START + 200).await;
    record(&fixture.store, answered(&again, 500, EventState::Live, Some(START + 300))).await;
    assert_eq!(fixture.due(START + 300).await[0].payload, Payload::Kept(Bytes::from_static(b"it")));
}

on_both!(a_lane_is_looked_into_however_much_waits_in_others);
async fn a_lane_is_looked_into_however_much_waits_in_others(fixture: &mut Fixture) {
    for key in 1..=40 {
        let id = fixture.insert_told(key, &format!("https://h{}.example/", key % 4)).await;
        cancel(fixture, id, START + i64::from(key)).await;
    }
    let lanes = outbox::list_lanes(&fixture.store).await.expect("the lanes");
    assert!((2..=4).contains(&lanes.len()), "{lanes:?}");
    assert!(lanes.iter().all(|(lane, due_at)| lane.account() == fixture.account.0 && *due_at <= START + 4));
    let mut total = 0;
    for (lane, due_at) in lanes {
        let due = outbox::find_due(&fixture.store, lane, START + 99, 100).await.expect("what is due");
        assert_eq!(due[0].payload, due[0].payload.clone());
        assert!(
            due.is_sorted_by_key(|due| due.seq)
                && outbox::find_due(&fixture.store, lane, due_at, 9).await.is_ok()
        );
        total += due.len();
    }
    assert_eq!(total, 40);
}

/// First bytes of all secrets in use.
async fn secrets_at(fixture: &Fixture, now: i64) -> Vec<u8> {
    let account = fixture.account;
    let secrets = webhook_secrets::list(&fixture.store, account, now).await.expect("the secrets");
    let several = webhook_secrets::list_of(&fixture.store, &[account.0], now).await.expect("the secrets");
    let bytes: Vec<u8> = secrets.iter().map(|it| it.secret.bytes()[0]).collect();
    assert_eq!(bytes, several[&account.0].iter().map(|it| it.bytes()[0]).collect::<Vec<_>>());
    bytes
}

on_both!(a_secret_is_replaced_with_an_overlap);
async fn a_secret_is_replaced_with_an_overlap(fixture: &mut Fixture) {
    let rotate = |secret, now, overlap_ms| {
        webhook_secrets::rotate(&fixture.store, fixture.account, secret, now, overlap_ms)
    };
    let [eighth, ninth, tenth] = [8, 9, 10].map(|byte| SigningSecret::new([byte; 32]));
    let at = |now| secrets_at(fixture, now);
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
async fn the_audit_finds_what_is_wrong_with_events(fixture: &mut Fixture) {
    let due = with_one_event(fixture).await;
    outbox::claim(&fixture.store, vec![claim_of(&due, b"it")], START + 10).await.expect("a claim");
    record(&fixture.store, answered(&due, 200, EventState::Delivered, None)).await;
    fixture
        .assert_found(&[
            ("UPDATE events SET request = request + 9", "UPDATE events SET request = request - 9"),
            ("UPDATE events SET kind = 0", "UPDATE events SET kind = 2"),
            ("UPDATE events SET account = account + 1", "UPDATE events SET account = account - 1"),
            ("UPDATE events SET due_at = 5", "UPDATE events SET due_at = NULL"),
            ("UPDATE events SET state = 0", "UPDATE events SET state = 1"),
            ("UPDATE events SET number = 2", "UPDATE events SET number = 1"),
            ("UPDATE deliveries SET status = 500", "UPDATE deliveries SET status = 200"),
            ("UPDATE deliveries SET failure = 'tls'", "UPDATE deliveries SET failure = NULL"),
            ("UPDATE deliveries SET number = 3", "UPDATE deliveries SET number = 1"),
            (
                "UPDATE request_states SET lane = NULL",
                "UPDATE request_states SET lane = (SELECT lane FROM events)",
            ),
        ])
        .await;
}
