//! Settings and ends of accounts through API keys with the scope `admin`.

use overnight_app::accounts::low_credits;
use overnight_app::webhooks;
use overnight_domain::ids::AccountId;
use overnight_runtime::workers;
use serde_json::{Value, json};

use super::administration::administrator;
use crate::support::{TestApp, check_json};

pub(super) const HOOK: &str = "https://hooks.example/low";

/// A path below the account of [`TestApp::client`].
pub(super) async fn at(app: &TestApp, rest: &str) -> String {
    format!("/v1/admin/accounts/{}{rest}", app.own().await.id)
}

/// The audit log of an account, newest first: the actions of API keys with their details.
async fn noted(app: &TestApp) -> Vec<(String, Value)> {
    let by_keys =
        app.noted().await.into_iter().filter(|entry| entry.actor_name.as_deref() == Some("provisioning"));
    let details = |text: &str| serde_json::from_str(text).expect("an object");
    by_keys
        .map(|it| (it.action.as_str().to_owned(), it.details.as_deref().map_or(Value::Null, details)))
        .collect()
}

#[tokio::test]
async fn what_is_set_of_an_account_is_shown_and_noted() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let low = json!({"threshold": "10.5", "webhook": HOOK});
    let of_settings = app.client().get("/v1/account").await.json()["retention_seconds"].clone();
    for (rest, body, field, value) in [
        ("/monthly_credits", json!({"amount": "12.5"}), "monthly_credits", json!("12.5")),
        ("/monthly_credits", json!({"amount": null}), "monthly_credits", Value::Null),
        ("/low_credits", low.clone(), "low_credits", low.clone()),
        ("/low_credits", json!({"threshold": null}), "low_credits", Value::Null),
        ("/retention", json!({"retention_seconds": 604_800}), "retention_seconds", json!(604_800)),
        ("/retention", json!({"retention_seconds": "none"}), "retention_seconds", Value::Null),
        ("/retention", json!({"retention_seconds": null}), "retention_seconds", of_settings),
    ] {
        let set = admin.call(&at(&app, rest).await, &body, 200).await;
        assert_eq!(set[field], value, "{rest} {body}");
        assert_eq!(app.client().get("/v1/account").await.json()[field], value, "{rest} {body}");
        let other = app.stranger().get("/v1/account").await.json();
        assert_eq!((&other["monthly_credits"], &other["low_credits"]), (&Value::Null, &Value::Null));
    }
    let expected = [
        ("account.retention", json!({"retention_ms": null})),
        ("account.retention", json!({"retention_ms": i64::MAX})),
        ("account.retention", json!({"retention_ms": 604_800_000})),
        ("credits.low", json!({"threshold": null, "host": null})),
        ("credits.low", json!({"threshold": "10.5", "host": "hooks.example"})),
        ("credits.monthly", json!({"amount": null})),
        ("credits.grant", json!({"amount": "12.5", "source": "monthly:2025-06"})),
        ("credits.monthly", json!({"amount": "12.5"})),
    ];
    assert_eq!(noted(&app).await, expected.map(|(action, details)| (action.to_owned(), details)));
    app.stop().await;
}

#[tokio::test]
async fn a_repeat_of_a_change_that_was_changed_since_changes_nothing() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let once = admin.clone().with("idempotency-key", "one");
    let low = |threshold: &str| json!({"threshold": threshold, "webhook": HOOK});
    let retained = |seconds: i64| json!({"retention_seconds": seconds});
    for (rest, body, other, field) in [
        ("/monthly_credits", json!({"amount": "25"}), json!({"amount": null}), "monthly_credits"),
        ("/low_credits", low("1"), low("2"), "low_credits"),
        ("/retention", retained(86_400), retained(172_800), "retention_seconds"),
    ] {
        let path = at(&app, rest).await;
        let first = once.post(&path, &body).await.checked(200);
        assert_eq!(first.header("idempotent-replayed"), "", "{path}");
        let since = admin.call(&path, &other, 200).await;
        let again = once.post(&path, &body).await.checked(200);
        assert_eq!((&again.json()[field], again.header("idempotent-replayed")), (&since[field], "true"));
        once.post(&path, &other).await.refused(422, "idempotency_key_reused");
    }
    // The first monthly credits are a grant, too.
    assert_eq!(noted(&app).await.len(), 7);
    app.stop().await;
}

#[tokio::test]
async fn what_cannot_be_set_is_named_and_nothing_is_done() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let before = admin.read(&at(&app, "").await).await;
    for (rest, body, param) in [
        ("/monthly_credits", json!({}), "amount"),
        ("/monthly_credits", json!({"amount": 25}), "amount"),
        ("/monthly_credits", json!({"amount": "much"}), "amount"),
        ("/monthly_credits", json!({"amount": "0"}), "amount"),
        ("/monthly_credits", json!({"amount": "-1"}), "amount"),
        ("/monthly_credits", json!({"amount": "1", "month": 1}), "month"),
        ("/low_credits", json!({}), "threshold"),
        ("/low_credits", json!({"threshold": "0", "webhook": HOOK}), "threshold"),
        ("/low_credits", json!({"threshold": "-1", "webhook": HOOK}), "threshold"),
        ("/low_credits", json!({"threshold": 1, "webhook": HOOK}), "threshold"),
        ("/low_credits", json!({"threshold": "few", "webhook": HOOK}), "threshold"),
        ("/low_credits", json!({"threshold": "1"}), "webhook"),
        ("/low_credits", json!({"threshold": null, "webhook": HOOK}), "webhook"),
        ("/low_credits", json!({"threshold": "1", "webhook": 7}), "webhook"),
        ("/low_credits", json!({"threshold": "1", "webhook": "http://hooks.example/"}), "webhook"),
        ("/low_credits", json!({"threshold": "1", "webhook": "https://127.0.0.1/"}), "webhook"),
        ("/retention", json!({}), "retention_seconds"),
        ("/retention", json!({"retention_seconds": 86_399}), "retention_seconds"),
        ("/retention", json!({"retention_seconds": 315_360_001}), "retention_seconds"),
        ("/retention", json!({"retention_seconds": i64::MAX}), "retention_seconds"),
        ("/retention", json!({"retention_seconds": "7d"}), "retention_seconds"),
    ] {
        let refused = admin.post(&at(&app, rest).await, &body).await;
        assert_eq!(refused.refused(422, "invalid_input")["param"], param, "{rest} {body}");
    }
    let unknown = format!("/v1/admin/accounts/{}", AccountId::from_bits(1));
    for (rest, body) in [
        ("/monthly_credits", json!({"amount": "1"})),
        ("/low_credits", json!({"threshold": "1", "webhook": HOOK})),
        ("/retention", json!({"retention_seconds": 86_400})),
        ("/close", json!({})),
        ("/erase", json!({})),
    ] {
        admin.post(&format!("{unknown}{rest}"), &body).await.refused(404, "not_found");
    }
    assert_eq!(admin.read(&at(&app, "").await).await, before);
    assert_eq!(noted(&app).await, []);
    app.stop().await;
}

#[tokio::test]
async fn an_account_is_closed_then_erased_and_one_that_calls_is_not() {
    let app = TestApp::start().await;
    let (admin, own, _) = administrator(&app).await;
    app.create("what is cancelled").await;
    let refused = admin.post(&format!("/v1/admin/accounts/{own}/close"), &json!({})).await;
    assert_eq!(refused.refused(422, "invalid_input")["param"], "account_id");
    let [close, erase] = [at(&app, "/close").await, at(&app, "/erase").await];
    let refused = admin.post(&erase, &json!({})).await;
    assert_eq!(refused.refused(422, "invalid_input")["param"], "account", "it is not closed");
    app.client().get("/v1/account").await;

    let once = admin.clone().with("idempotency-key", "one");
    for is_repeat in ["", "true"] {
        let closed = once.post(&close, &json!({})).await.checked(200);
        assert_eq!(closed.header("idempotent-replayed"), is_repeat);
        check_json(&closed.json(), &json!({"closed": true, "erased": false}));
    }
    admin.call(&close, &json!({}), 200).await;
    app.client().get("/v1/account").await.refused(401, "invalid_api_key");
    for (rest, body) in [
        ("/monthly_credits", json!({"amount": "1"})),
        ("/low_credits", json!({"threshold": "1", "webhook": HOOK})),
        ("/retention", json!({"retention_seconds": 86_400})),
        ("/resume", json!({})),
        ("/api_keys", json!({})),
    ] {
        admin.post(&at(&app, rest).await, &body).await.refused(422, "invalid_input");
    }
    for _ in 0..2 {
        admin.call(&erase, &json!({}), 200).await;
    }
    let now = app.services.clock.now();
    workers::account_closer(&app.services, now).await.expect("a run");
    for _ in 0..2 {
        workers::account_eraser(&app.services, now).await.expect("a run");
    }
    let erased = admin.read(&at(&app, "").await).await;
    assert_eq!((&erased["erased"], &erased["name"]), (&json!(true), &json!("erased account")));
    assert_eq!(app.stranger().get("/v1/account").await.status, 200);
    app.stop().await;
}

#[tokio::test]
async fn whoever_reads_the_credits_sees_when_a_webhook_is_told_and_not_where() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let id = app.own().await.id;
    let page = format!("/console/{id}/credits");
    let mut operator = crate::console::operator(&app).await;
    assert!(!operator.get(&page).await.text().contains("a webhook is told"));
    let low = json!({"threshold": "10.5", "webhook": HOOK});
    admin.call(&at(&app, "/low_credits").await, &low, 200).await;
    let answered = operator.get(&page).await;
    let shown = answered.text();
    assert!(shown.contains("10.5") && shown.contains("a webhook is told"), "{shown}");
    assert!(!shown.contains(HOOK), "{shown}");
    app.stop().await;
}

/// The newest events of the account of [`TestApp::client`]: their types and addresses.
async fn events(app: &TestApp) -> Vec<(&'static str, Option<String>)> {
    let events = webhooks::list_own_events(&app.services, app.account, None, None, 99).await.expect("events");
    events.rows.into_iter().map(|event| (event.kind.as_str(), event.url)).collect()
}

#[tokio::test]
async fn an_account_that_passes_its_threshold_again_and_again_is_told_once_an_hour() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let own = admin.read(&at(&app, "").await).await;
    let low = json!({"threshold": own["available"], "webhook": HOOK});
    admin.call(&at(&app, "/low_credits").await, &low, 200).await;
    let start = app.services.clock.now();
    low_credits::notify_due(&app.services, start).await.expect("a run");
    assert_eq!(events(&app).await, [], "not less than the threshold is available");
    // Sixty times in two hours, a create and a cancel pass the threshold in both directions.
    for minute in 0..60 {
        let id = app.create("a").await;
        low_credits::notify_due(&app.services, start + minute * 120_000).await.expect("a run");
        assert_eq!(app.client().post(&format!("/v1/requests/{id}/cancel"), &json!({})).await.status, 200);
    }
    let told = ("account.low_credits", Some(HOOK.to_owned()));
    assert_eq!(events(&app).await, [told.clone(), told]);
    app.stop().await;
}

#[tokio::test]
async fn where_requests_cost_nothing_nobody_is_told_of_credits() {
    let app = TestApp::start_with(&[("billing.enabled", "false")]).await;
    let (admin, ..) = administrator(&app).await;
    let low = json!({"threshold": "1000000", "webhook": HOOK});
    admin.call(&at(&app, "/low_credits").await, &low, 200).await;
    low_credits::notify_due(&app.services, app.services.clock.now()).await.expect("a run");
    assert_eq!(events(&app).await, []);
    app.stop().await;
}
