//! Administrative calls that are repeated, have no effect, or run while an account is closed.

use overnight_app::accounts::low_credits;
use overnight_app::webhooks;
use overnight_domain::money::{Credits, EntryKind};
use overnight_store::StoreError;
use overnight_store::idempotency_keys::Guarded;
use overnight_store::identity::accounts::LowCredits;
use overnight_store::ledger::{self, NewEntry, Posting, monthly_grants};
use overnight_store::{low_credits as kept, requests};
use serde_json::json;

use super::admin_settings::{HOOK, at};
use super::administration::administrator;
use crate::support::TestApp;

const DAY_MS: i64 = 86_400_000;

#[tokio::test]
async fn a_grant_that_was_refused_leaves_its_key_free() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let grants = at(&app, "/grants").await;
    let before = admin.post(&grants, &json!({"amount": "25", "source": "invoice 7"})).await.json();
    let once = admin.clone().with("idempotency-key", "one");
    for _ in 0..2 {
        let refused = once.post(&grants, &json!({"amount": "30", "source": "invoice 7"})).await;
        assert_eq!(refused.refused(422, "invalid_input")["param"], "source");
    }
    for _ in 0..2 {
        let same = once.post(&grants, &json!({"amount": "25", "source": "invoice 7"})).await;
        assert_eq!((same.status, &same.json()["is_new"]), (201, &json!(false)), "{same:?}");
        assert_eq!(same.json()["available"], before["available"]);
    }
    app.stop().await;
}

#[tokio::test]
async fn a_repeat_is_answered_though_its_account_was_closed_since() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let once = admin.clone().with("idempotency-key", "one");
    let calls = [
        ("/grants", json!({"amount": "25"}), 201),
        ("/api_keys", json!({"name": "nightly"}), 201),
        ("/monthly_credits", json!({"amount": "12.5"}), 200),
        ("/low_credits", json!({"threshold": "1", "webhook": HOOK}), 200),
        ("/retention", json!({"retention_seconds": 86_400}), 200),
    ];
    for (rest, body, status) in &calls {
        assert_eq!(once.post(&at(&app, rest).await, body).await.status, *status, "{rest}");
    }
    assert_eq!(admin.post(&at(&app, "/close").await, &json!({})).await.status, 200);
    for (rest, body, status) in &calls {
        let again = once.post(&at(&app, rest).await, body).await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (*status, "true"), "{again:?}");
        admin.post(&at(&app, rest).await, body).await.refused(422, "invalid_input");
    }
    app.stop().await;
}

#[tokio::test]
async fn nothing_is_set_of_an_account_that_was_closed_meanwhile_nor_granted() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let own = app.own().await;
    assert_eq!(admin.post(&at(&app, "/close").await, &json!({})).await.status, 200);
    let (store, account, now) = (&app.services.store, own.key, app.services.clock.now());
    let amount: Credits = "25".parse().expect("credits");
    let low = LowCredits { threshold: amount, webhook: HOOK.to_owned() };
    let entry = NewEntry { account, kind: EntryKind::Grant, amount, source: "a b".to_owned(), now };
    for refused in [
        monthly_grants::set(store, account, Some(amount), None, now, None).await.map(drop),
        kept::set(store, account, Some(low), now, None).await.map(drop),
        requests::set_retention(store, account, Some(DAY_MS), now, None).await.map(drop),
        ledger::post_once(store, &entry, None).await.map(drop),
    ] {
        assert!(matches!(refused, Err(StoreError::AccountClosed)), "{refused:?}");
    }
    // The account's credits are taken back.
    let taken = NewEntry { amount: -amount, ..entry };
    let posted = ledger::post_once(store, &taken, None).await.expect("a posting");
    assert_eq!(posted, Guarded::Done(Posting::Posted));
    app.stop().await;
}

#[tokio::test]
async fn what_is_set_again_as_it_is_makes_no_entry_in_the_audit_log() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    for (rest, body) in [
        ("/monthly_credits", json!({"amount": "12.5"})),
        ("/low_credits", json!({"threshold": "1", "webhook": HOOK})),
        ("/retention", json!({"retention_seconds": 604_800})),
    ] {
        for _ in 0..2 {
            assert_eq!(admin.post(&at(&app, rest).await, &body).await.status, 200, "{rest}");
        }
    }
    let entries = app.noted().await;
    let by_key = entries.iter().filter(|entry| entry.actor_name.as_deref() == Some("provisioning"));
    let actions: Vec<&str> = by_key.map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["account.retention", "credits.low", "credits.grant", "credits.monthly"]);
    app.stop().await;
}

#[tokio::test]
async fn an_account_is_told_of_low_credits_though_the_clock_was_far_ahead_when_it_was_told_last() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let now = app.services.clock.now();
    let told = async || {
        let events = webhooks::list_own_events(&app.services, app.account, None, None, 99).await;
        events.expect("events").rows.len()
    };
    // Each threshold is reported again.
    for (threshold, at_ms, expected) in [
        ("1000001", now + 365 * DAY_MS, 1),
        ("1000002", now, 2),
        // The clocks of two nodes differ slightly.
        ("1000003", now - 1_000, 2),
        ("1000004", now + 3_600_000, 3),
    ] {
        let low = json!({"threshold": threshold, "webhook": HOOK});
        assert_eq!(admin.post(&at(&app, "/low_credits").await, &low).await.status, 200);
        low_credits::notify_due(&app.services, at_ms).await.expect("a run");
        assert_eq!(told().await, expected, "{threshold}");
    }
    app.stop().await;
}
