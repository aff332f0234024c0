//! An account's view of its own webhooks, and its actions on them.

use std::sync::Arc;

use overnight_app::accounts;
use overnight_app::errors::AppError;
use overnight_app::webhooks::{self, DeliveryCursor, EventState};
use overnight_domain::ids::EventId;
use overnight_store::outbox::{self, AttemptResult, Claim};

use crate::support::TestApp;

/// Fails every due delivery without an answer.
async fn fail_all(app: &TestApp, failure: &'static str) {
    let (store, now) = (&app.services.store, app.services.clock.now());
    for (lane, _) in outbox::list_lanes(store).await.expect("lanes") {
        for due in outbox::find_due(store, lane, now, 9).await.expect("what is due") {
            let payload = webhooks::payload(&due.payload);
            let claim = Claim { seq: due.seq, number: due.number, url: due.url, payload };
            outbox::claim(store, vec![claim], now).await.expect("a claim");
            let result = AttemptResult {
                seq: due.seq,
                number: due.number + 1,
                started_at: now,
                duration_ms: 3,
                status: None,
                failure: Some(failure),
                failures: 1,
                state: EventState::Exhausted,
                due_at: None,
                now,
            };
            assert!(outbox::record_attempt_results(store, Arc::new([result])).await.expect("a result")[0]);
        }
    }
}

#[tokio::test]
async fn an_account_tests_its_receiver_and_reads_what_came_of_it() {
    let app = TestApp::start().await;
    let (services, account) = (&app.services, app.account);
    let id = accounts::list(services).await.expect("accounts")[0].id;
    let mut sent = Vec::new();
    for (url, failure) in
        [("https://inner.example/", "refused_address"), ("https://none.example/", "unresolved")]
    {
        sent.push(webhooks::send_test(services, id, url, None).await.expect("a test").id);
        let second = webhooks::send_test(services, id, url, None).await;
        assert!(matches!(second, Err(AppError::Unavailable(_))), "{second:?}");
        fail_all(&app, failure).await;
    }
    let refused = webhooks::send_test(services, id, "https://127.0.0.1/", None).await;
    assert!(matches!(refused, Err(AppError::Invalid(_))), "{refused:?}");

    let tries = webhooks::list_own_deliveries(services, account, None, None, 9).await.expect("tries");
    let told: Vec<_> = tries.iter().map(|it| (it.event, it.failure.as_deref(), it.duration_ms)).collect();
    assert_eq!(told, [(sent[1], Some("unreachable"), None), (sent[0], Some("unreachable"), None)]);
    let place = DeliveryCursor { event: sent[1], number: 1 };
    let behind = webhooks::list_own_deliveries(services, account, None, Some(place), 9).await;
    assert_eq!(behind.expect("tries"), tries[1..]);
    let listed =
        |before| webhooks::list_own_events(services, account, Some(EventState::Exhausted), before, 1);
    let newest = listed(None).await.expect("events");
    assert_eq!(newest.rows[0].id, sent[1]);
    let older = listed(newest.next).await.expect("events");
    assert_eq!((older.rows[0].id, older.next), (sent[0], None));
    let replayed = webhooks::replay_own(services, account, sent[0]).await.expect("a replay");
    assert_eq!((replayed.state, replayed.tries), (EventState::Live, 1));
    app.stop().await;
}

#[tokio::test]
async fn a_foreign_event_looks_like_an_unknown_one() {
    let app = TestApp::start().await;
    let services = &app.services;
    let id = accounts::list(services).await.expect("accounts")[0].id;
    let event = webhooks::send_test(services, id, "https://example.com/", None).await.expect("a test").id;
    let other = accounts::create(services, "other").await.expect("an account");
    for event in [event, EventId::from_bits(7)] {
        let place = DeliveryCursor { event, number: 1 };
        let outcomes = [
            webhooks::get_own(services, other.key, event).await.map(drop),
            webhooks::replay_own(services, other.key, event).await.map(drop),
            webhooks::list_own_deliveries(services, other.key, Some(event), None, 9).await.map(drop),
            webhooks::list_own_deliveries(services, other.key, None, Some(place), 9).await.map(drop),
        ];
        assert!(outcomes.iter().all(|it| matches!(it, Err(AppError::NotFound("event")))), "{outcomes:?}");
    }
    for before in [None, Some(2)] {
        let page = webhooks::list_own_events(services, other.key, None, before, 9).await.expect("none");
        assert!(page.rows.is_empty());
    }
    app.stop().await;
}
