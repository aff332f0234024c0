//! An account's overview: its state, ended requests, and why a request waits.

use std::sync::Arc;

use overnight_app::Services;
use overnight_app::accounts::{activity, overview};
use overnight_app::engines::{EnginePause, EngineState};
use overnight_app::requests::waiting::{self, WaitingReason};
use overnight_domain::requests::RequestState;
use serde_json::json;

use crate::support::{MODEL, START, TestApp, idle_engine};

/// The same services without cached counts.
fn afresh(app: &TestApp) -> Services {
    Services { live_counts: Arc::default(), ..app.services.clone() }
}

#[tokio::test]
async fn how_an_account_stands_is_counted_and_remembered_for_a_while() {
    let app = TestApp::start().await;
    let ids = [app.create("one").await, app.create("two").await, app.create("three").await];
    let services = afresh(&app);
    let standing = overview::get(&services, app.account).await.expect("a standing");
    assert_eq!((standing.waiting, standing.in_progress), (3, 0));
    let day_ms = 86_400_000;
    assert_eq!((standing.counted_at, standing.oldest_deadline), (START, Some(START + day_ms)));

    app.client().cancel(&format!("/v1/requests/{}", ids[0])).await;
    let again = overview::get(&services, app.account).await.expect("a standing");
    let after = overview::get(&afresh(&app), app.account).await.expect("a standing");
    assert_eq!((after.waiting, again), (2, standing));
    app.clock.set(START + 1_000);
    assert_eq!(overview::get(&services, app.account).await.expect("a standing").waiting, 2);
    app.stop().await;
}

#[tokio::test]
async fn what_ended_is_told_by_quarters_of_an_hour() {
    let app = TestApp::start().await;
    assert_eq!(activity::list(&app.services, app.account, 24).await.expect("activity"), []);
    let id = app.create("one").await;
    app.client().cancel(&format!("/v1/requests/{id}")).await;
    let records = activity::list(&app.services, app.account, 24).await.expect("activity");
    let [record] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((record.completed, record.failed, record.cancelled, record.amount), (0, 0, 1, 0));
    app.stop().await;
}

#[tokio::test]
async fn a_client_is_told_why_a_request_waits_and_operators_why_engines_are_paused() {
    let app = TestApp::start().await;
    let now = app.services.clock.now();
    let report =
        async |pause: Option<EnginePause>| app.report_engine(EngineState { pause, ..idle_engine() }).await;
    let reason =
        async |state: &RequestState| waiting::reason(&afresh(&app), MODEL, state).await.expect("a reason");
    let gathering = RequestState::Gathering { ready_at: now + 60_000 };
    assert_eq!(reason(&gathering).await, Some(WaitingReason::Gathering { until: now + 60_000 }));
    assert_eq!(reason(&RequestState::InProgress { in_progress_at: now }).await, None);
    assert_eq!(reason(&RequestState::Queued).await, Some(WaitingReason::NoEngine));

    let pause = EnginePause { until: Some(now + 60_000), reason: "the engine's own words".to_owned() };
    report(Some(pause.clone())).await;
    let paused = |reason| Some(WaitingReason::EnginesPaused { reason, until: pause.until });
    assert_eq!(reason(&RequestState::Queued).await, paused(None));
    let services = afresh(&app);
    let told = waiting::reason_for_operators(&services, MODEL, &RequestState::Queued).await;
    assert_eq!(told.expect("a reason"), paused(Some(pause.reason.clone())));

    report(None).await;
    assert_eq!(reason(&RequestState::Queued).await, Some(WaitingReason::Queued { ahead: 0 }));
    let unserved = waiting::reason(&afresh(&app), "other", &RequestState::Queued).await;
    assert_eq!(unserved.expect("a reason"), Some(WaitingReason::NoEngine));
    app.stop().await;
}

#[tokio::test]
async fn a_request_that_was_asked_for_by_itself_says_what_it_waits_for() {
    let app = TestApp::start().await;
    let id = app.create("one").await;
    let waiting_for = async |path: &str| {
        let answer = app.client().get(path).await.json();
        let record = if answer.is_array() { answer[0].clone() } else { answer };
        record["waiting_for"].clone()
    };
    let (status, whole) = (format!("/v1/requests/{id}/status"), format!("/v1/requests/{id}"));
    for path in [&status, &whole] {
        let expected = json!({"reason": "gathering", "until": (START + 2_999).div_euclid(1_000)});
        assert_eq!(waiting_for(path).await, expected, "{path}");
    }
    app.clock.set(START + 2_000);
    for path in [&status, &whole] {
        assert_eq!(waiting_for(path).await, json!({"reason": "no_engine"}), "{path}");
    }
    let list = app.client().get("/v1/requests?full=true").await;
    assert!(!list.text().contains("waiting_for"), "lists say nothing of it");
    app.client().cancel(&format!("/v1/requests/{id}")).await;
    assert_eq!(waiting_for(&status).await, json!(null), "it waits no longer");
    app.stop().await;
}
