//! Tests of receivers, and what an account sees of its own webhooks.

use crate::outbox::{Claimed, DeliveryCursor};
use crate::tests::deliveries::{answered, claim_of, record};
use crate::tests::prelude::*;
use crate::tests::webhooks::{HOOK, cancel};

const PAYLOAD: &[u8] = br#"{"type":"webhook.test"}"#;

fn test_of(account: AccountKey, number: u128) -> NewTest {
    let (id, url) = (EventId::from_bits(number), HOOK.to_owned());
    NewTest { id, account, url, payload: Bytes::from_static(PAYLOAD), now: START }
}

async fn insert(fixture: &Fixture, number: u128) -> bool {
    outbox::insert_test(&fixture.store, test_of(fixture.account, number)).await.expect("a test")
}

/// Returns its consecutive failures and their limit.
async fn claim(fixture: &Fixture, due: &Due) -> Claimed {
    let claims = vec![claim_of(due, b"something else")];
    outbox::claim(&fixture.store, claims, START + 10).await.expect("a claim")[&due.seq]
}

on_both!(a_test_is_due_once_with_all_that_is_sent);
async fn a_test_is_due_once_with_all_that_is_sent(fixture: &mut Fixture) {
    assert!(insert(fixture, 5).await);
    let event = fixture.events().await.remove(0);
    assert_eq!((event.kind, event.subject, event.url.as_deref()), (EventKind::WebhookTest, None, Some(HOOK)));
    let due = fixture.due(START).await.remove(0);
    assert_eq!((due.url.as_str(), &due.payload), (HOOK, &Payload::Kept(Bytes::from_static(PAYLOAD))));
    fixture.assert_sound().await;
    assert_eq!(claim(fixture, &due).await, Claimed { failures: 0, tries_max: Some(1) });
    assert!(!insert(fixture, 6).await, "it is being sent");
    assert!(record(&fixture.store, answered(&due, 500, EventState::Exhausted, None)).await);
    assert_eq!(outbox::count_exhausted(&fixture.store, 0).await.expect("a count"), 0);
    let replayed = outbox::replay_exhausted(&fixture.store, fixture.account, START + 20).await;
    assert_eq!(replayed.expect("replays"), 0);
    outbox::replay(&fixture.store, None, due.id, START + 20).await.expect("a replay");
    let again = fixture.due(START + 20).await.remove(0);
    let whole_schedule = Claimed { failures: 0, tries_max: None };
    assert_eq!(claim(fixture, &again).await, whole_schedule);
}

on_both!(of_the_tests_of_an_account_one_is_live_at_a_time);
async fn of_the_tests_of_an_account_one_is_live_at_a_time(fixture: &mut Fixture) {
    let tests: Vec<NewTest> = (1..=8).map(|number| test_of(fixture.account, number)).collect();
    let inserts = tests.into_iter().map(|test| outbox::insert_test(&fixture.store, test));
    let inserted = join_all(inserts).await;
    assert_eq!(inserted.into_iter().filter(|inserted| matches!(inserted, Ok(true))).count(), 1);
    let other = accounts::insert(&fixture.store, &new_account(8)).await.expect("an account");
    let theirs = outbox::insert_test(&fixture.store, test_of(other.key, 9)).await;
    assert!(theirs.expect("a test"));
}

on_both!(tests_beyond_the_newest_twenty_are_deleted_with_their_tries);
async fn tests_beyond_the_newest_twenty_are_deleted_with_their_tries(fixture: &mut Fixture) {
    let request = fixture.insert_told(1, HOOK).await;
    cancel(fixture, request, START).await;
    let ended = fixture.due(START).await.remove(0);
    for number in 0..25 {
        assert!(insert(fixture, 100 + number).await);
        let due = fixture.due(START).await.into_iter().find(|due| due.id != ended.id).expect("a test");
        claim(fixture, &due).await;
        assert!(record(&fixture.store, answered(&due, 200, EventState::Delivered, None)).await);
    }
    let kept: Vec<u128> = fixture.events().await.iter().map(|event| event.id.bits()).collect();
    let newest: Vec<u128> = [ended.id.bits()].into_iter().chain(105..125).collect();
    assert_eq!(kept, newest);
    let filter = DeliveryFilter { account: Some(fixture.account), event: None, before: None, limit: 100 };
    let tries = outbox::list_deliveries(&fixture.store, filter).await.expect("tries");
    assert_eq!(tries.len(), 20);
}

on_both!(the_audit_finds_what_is_wrong_with_tests);
async fn the_audit_finds_what_is_wrong_with_tests(fixture: &mut Fixture) {
    assert!(insert(fixture, 5).await);
    let id = fixture.insert(&[1]).await[0];
    cancel(fixture, id, START).await;
    fixture
        .assert_found(&[
            ("UPDATE events SET kind = 4", "UPDATE events SET kind = 5"),
            ("UPDATE events SET request = 1", "UPDATE events SET request = NULL"),
            ("UPDATE events SET batch = 1", "UPDATE events SET batch = NULL"),
            ("UPDATE events SET lane = lane + 256", "UPDATE events SET lane = lane - 256"),
            ("UPDATE events SET url = NULL", "UPDATE events SET url = 'https://hooks.example/'"),
            (
                "UPDATE events SET account = account + 9, lane = lane + 9 * 256",
                "UPDATE events SET account = account - 9, lane = lane - 9 * 256",
            ),
        ])
        .await;
}

on_both!(events_and_tries_are_listed_page_by_page);
async fn events_and_tries_are_listed_page_by_page(fixture: &mut Fixture) {
    for key in 1..=5 {
        let id = fixture.insert_told(key, HOOK).await;
        cancel(fixture, id, START + i64::from(key)).await;
    }
    for due in fixture.due(START + 10).await {
        claim(fixture, &due).await;
        let failed = answered(&due, 500, EventState::Live, Some(START + 20));
        assert!(record(&fixture.store, failed).await);
    }
    let account = Some(fixture.account);
    let all: Vec<EventId> = fixture.events().await.iter().rev().map(|event| event.id).collect();
    let listed = async |before| {
        let filter = EventFilter { account, state: Some(EventState::Live), before, limit: 2 };
        let page = outbox::list(&fixture.store, filter).await.expect("events");
        (page.rows.iter().map(|event| event.id).collect::<Vec<_>>(), page.next)
    };
    assert_eq!(walk(listed).await.concat(), all);
    let tried = async |before| {
        let filter = DeliveryFilter { account, event: None, before, limit: 2 };
        let page = outbox::list_deliveries(&fixture.store, filter).await.expect("tries");
        let next = page.last().map(|last| DeliveryCursor { event: last.event, number: last.number });
        (page.iter().map(|tried| tried.event).collect::<Vec<_>>(), next)
    };
    assert_eq!(walk(tried).await.concat(), all);
    let other = fixture.other_account().await;
    assert_eq!(outbox::find_own(&fixture.store, other, all[0]).await.expect("a read"), None);
    let own = outbox::find_own(&fixture.store, fixture.account, all[0]).await.expect("a read");
    assert_eq!(own.map(|event| event.id), Some(all[0]));
}
