//! Tests of receivers, and what an account sees of its own webhooks.

use bytes::Bytes;
use overnight_domain::ids::EventId;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;

use crate::store::database::sql;
use crate::store::identity::accounts;
use crate::store::operations::audit;
use crate::store::outbox::{
    self, Claimed, DeliveryCursor, DeliveryFilter, Due, EventFilter, EventState, NewTest, Payload,
};
use crate::store::tests::deliveries::{answered, claim_of, record};
use crate::store::tests::webhooks::{HOOK, cancel};
use crate::store::tests::{Fixture, START, new_account};

const PAYLOAD: &[u8] = br#"{"type":"webhook.test"}"#;

fn test_of(account: AccountKey, number: u128) -> NewTest {
    let (id, url) = (EventId::from_bits(number), HOOK.to_owned());
    NewTest { id, account, url, payload: Bytes::from_static(PAYLOAD), now: START }
}

async fn insert(fixture: &Fixture, number: u128) -> bool {
    outbox::insert_test(&fixture.store, test_of(fixture.account, number)).await.expect("a test")
}

/// Claims an event; how often in a row it has failed, and may.
async fn claim(fixture: &Fixture, due: &Due) -> Claimed {
    let claims = vec![claim_of(due, b"something else")];
    outbox::claim(&fixture.store, claims, START + 10).await.expect("a claim")[&due.seq]
}

on_both!(a_test_is_due_once_with_all_that_is_sent);
async fn a_test_is_due_once_with_all_that_is_sent(fixture: Fixture) {
    assert!(insert(&fixture, 5).await);
    let event = fixture.events().await.remove(0);
    assert_eq!((event.kind, event.subject, event.url.as_deref()), (EventKind::WebhookTest, None, Some(HOOK)));
    let due = fixture.due(START).await.remove(0);
    assert_eq!((due.url.as_str(), &due.payload), (HOOK, &Payload::Kept(Bytes::from_static(PAYLOAD))));
    fixture.assert_sound().await;
    assert_eq!(claim(&fixture, &due).await, Claimed { failures: 0, tries_max: Some(1) });
    assert!(!insert(&fixture, 6).await, "it is being sent");
    assert!(record(&fixture.store, answered(&due, 500, EventState::Exhausted, None)).await);
    assert_eq!(outbox::count_exhausted(&fixture.store, 0).await.expect("a count"), 0);
    let replayed = outbox::replay_exhausted(&fixture.store, fixture.account, START + 20).await;
    assert_eq!(replayed.expect("replays"), 0);
    outbox::replay(&fixture.store, None, due.id, START + 20).await.expect("a replay");
    let again = fixture.due(START + 20).await.remove(0);
    let whole_schedule = Claimed { failures: 0, tries_max: None };
    assert_eq!(claim(&fixture, &again).await, whole_schedule);
    fixture.assert_sound().await;
}

on_both!(of_the_tests_of_an_account_one_is_live_at_a_time);
async fn of_the_tests_of_an_account_one_is_live_at_a_time(fixture: Fixture) {
    let tests: Vec<NewTest> = (1..=8).map(|number| test_of(fixture.account, number)).collect();
    let inserts = tests.into_iter().map(|test| outbox::insert_test(&fixture.store, test));
    let inserted = futures_util::future::join_all(inserts).await;
    assert_eq!(inserted.into_iter().filter(|inserted| matches!(inserted, Ok(true))).count(), 1);
    let other = accounts::insert(&fixture.store, &new_account(8)).await.expect("an account");
    let theirs = outbox::insert_test(&fixture.store, test_of(other.key, 9)).await;
    assert!(theirs.expect("a test"));
    fixture.assert_sound().await;
}

on_both!(the_audit_finds_what_is_wrong_with_tests);
async fn the_audit_finds_what_is_wrong_with_tests(mut fixture: Fixture) {
    assert!(insert(&fixture, 5).await);
    let id = fixture.insert(&[1]).await[0];
    cancel(&fixture, id, START).await;
    fixture.assert_sound().await;
    let mut connection = fixture.store.connect().await.expect("a connection");
    for (damage, repair) in [
        ("UPDATE events SET kind = 4", "UPDATE events SET kind = 5"),
        ("UPDATE events SET request = 1", "UPDATE events SET request = NULL"),
        ("UPDATE events SET batch = 1", "UPDATE events SET batch = NULL"),
        ("UPDATE events SET lane = lane + 256", "UPDATE events SET lane = lane - 256"),
        ("UPDATE events SET url = NULL", "UPDATE events SET url = 'https://hooks.example/'"),
        (
            "UPDATE events SET account = account + 9, lane = lane + 9 * 256",
            "UPDATE events SET account = account - 9, lane = lane - 9 * 256",
        ),
    ] {
        connection.execute(sql(damage)).await.expect("damage");
        let checks = audit::run(&fixture.store).await.expect("an audit");
        assert!(checks.iter().any(|check| check.breaches > 0), "{damage}");
        connection.execute(sql(repair)).await.expect("a repair");
        fixture.assert_sound().await;
    }
}

on_both!(events_and_tries_are_listed_page_by_page);
async fn events_and_tries_are_listed_page_by_page(mut fixture: Fixture) {
    for key in 1..=5 {
        let id = fixture.insert_told(key, HOOK).await;
        cancel(&fixture, id, START + i64::from(key)).await;
    }
    for due in fixture.due(START + 10).await {
        claim(&fixture, &due).await;
        let failed = answered(&due, 500, EventState::Live, Some(START + 20));
        assert!(record(&fixture.store, failed).await);
    }
    let account = Some(fixture.account);
    let all: Vec<EventId> = fixture.events().await.iter().rev().map(|event| event.id).collect();
    let (mut before, mut listed) = (None, Vec::new());
    loop {
        let filter = EventFilter { account, state: Some(EventState::Live), before, limit: 2 };
        let page = outbox::list(&fixture.store, filter).await.expect("events");
        listed.extend(page.rows.iter().map(|event| event.id));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(listed, all);
    let (mut before, mut tried) = (None, Vec::new());
    loop {
        let filter = DeliveryFilter { account, event: None, before, limit: 2 };
        let page = outbox::list_deliveries(&fixture.store, filter).await.expect("tries");
        let Some(last) = page.last() else { break };
        before = Some(DeliveryCursor { event: last.event, number: last.number });
        tried.extend(page.iter().map(|tried| tried.event));
    }
    assert_eq!(tried, all);
    let other = accounts::insert(&fixture.store, &new_account(8)).await.expect("an account").key;
    assert_eq!(outbox::find_own(&fixture.store, other, all[0]).await.expect("a read"), None);
    let own = outbox::find_own(&fixture.store, fixture.account, all[0]).await.expect("a read");
    assert_eq!(own.map(|event| event.id), Some(all[0]));
}
