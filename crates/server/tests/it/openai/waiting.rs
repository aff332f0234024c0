//! Waiting calls: their share of the limits, and their ends.

use std::time::Duration;

use serde_json::json;

use super::support::{CHAT, Stage, chat, chat_with, refused, requests};
use crate::support::{Raw, pause};

/// A call on its own connection that has created the `count`-th request and waits.
async fn wait_on_a_connection(stage: &Stage, count: usize, more: &serde_json::Value) -> Raw {
    let body = chat_with(more).to_string();
    let mut raw = stage.app.raw().await;
    let key = stage.app.key();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: test\r\nx-api-key: {key}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    raw.send(head + &body).await;
    stage.requests(count).await;
    raw
}

#[tokio::test]
async fn an_account_whose_share_of_waiting_calls_is_full_keeps_nothing_from_others_and_calls_on_itself() {
    let settings = [("limits.waiting_calls_per_account", "3"), ("limits.calls_per_account", "2")];
    let stage = Stage::start(&settings).await;
    let waiting: Vec<_> = (0..3).map(|_| Stage::call(stage.app.client(), CHAT, &chat("waits"))).collect();
    stage.requests(3).await;
    let over = stage.app.client().post(CHAT, &chat("is over the share")).await;
    refused(&over, 429, "too_many_waiting_calls");
    assert_eq!((over.header("retry-after"), over.header("x-should-retry")), ("1", ""));
    // A refused call has created nothing, and ordinary calls have their own share.
    assert_eq!(stage.requests(3).await.len(), 3);
    stage.app.check_counted("overnight_http_waiting_calls ").await;
    stage.app.check_counted("overnight_http_calls_over_share_total{share=\"waiting\"}").await;
    // Another account's call waits and is answered.
    let stranger = Stage::call(stage.app.stranger(), CHAT, &chat("is honest"));
    let id = requests(&stage.app.stranger(), 1).await.remove(0);
    stage.app.stranger().cancel(&format!("/v1/requests/{id}")).await;
    refused(&stage.answer(stranger).await, 409, "cancelled");
    stage.complete_all(3).await;
    for call in waiting {
        assert_eq!(stage.answer(call).await.status, 200);
    }
    stage.app.stop().await;
}

#[tokio::test]
async fn where_every_place_is_taken_the_account_with_the_most_makes_room_for_one_with_fewer() {
    // Waiting calls may use half of the connections.
    let stage = Stage::start(&[("limits.connections", "8"), ("console.trusted_proxies", "[]")]).await;
    let waiting: Vec<_> = (0..4).map(|_| Stage::call(stage.app.client(), CHAT, &chat("waits"))).collect();
    stage.requests(4).await;
    let stranger = Stage::call(stage.app.stranger(), CHAT, &chat("is honest"));
    let id = requests(&stage.app.stranger(), 1).await.remove(0);
    stage.complete_all(4).await;
    let mut statuses = Vec::new();
    for call in waiting {
        let answered = stage.answer(call).await;
        if answered.status == 503 {
            let error = refused(&answered, 503, "still_waiting");
            assert!(error["message"].as_str().is_some_and(|message| message.contains("req_")), "{error}");
            // Without a key, a repeat would create the same work again.
            assert_eq!(answered.header("x-should-retry"), "false");
        }
        statuses.push(answered.status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 503]);
    stage.app.stranger().cancel(&format!("/v1/requests/{id}")).await;
    refused(&stage.answer(stranger).await, 409, "cancelled");
    stage.app.stop().await;
}

#[tokio::test]
async fn a_client_that_leaves_frees_its_place_and_its_request_stays() {
    let stage = Stage::start(&[("limits.waiting_calls_per_account", "1")]).await;
    for more in [json!({}), json!({"stream": true})] {
        let count = stage.requests_so_far().await + 1;
        let left = wait_on_a_connection(&stage, count, &more).await;
        refused(&stage.app.client().post(CHAT, &chat("next")).await, 429, "too_many_waiting_calls");
        drop(left);
        let next = loop {
            let call = Stage::call(stage.app.client(), CHAT, &chat("next"));
            while !call.is_finished() && stage.requests_so_far().await == count {
                pause().await;
            }
            if stage.requests_so_far().await > count {
                break call;
            }
            refused(&call.await.expect("an answer"), 429, "too_many_waiting_calls");
        };
        stage.complete_all(count + 1).await;
        assert_eq!(stage.answer(next).await.status, 200);
    }
    stage.app.stop().await;
}

#[tokio::test]
async fn a_stream_that_waits_shows_that_it_is_alive_and_nothing_cuts_it() {
    let stage = Stage::start_impatient().await;
    let mut whole = wait_on_a_connection(&stage, 1, &json!({})).await;
    let mut stream = wait_on_a_connection(&stage, 2, &json!({"stream": true})).await;
    stream.until("text/event-stream").await;
    for _ in 0..3 {
        let alive = stream.until(": waiting\n\n");
        stage.clock.advance_until(Duration::from_secs(15), alive).await;
    }
    // Hours pass; an idle connection would be closed after a minute.
    for _ in 0..8 * 60 {
        stage.clock.advance(Duration::from_secs(60));
        pause().await;
    }
    stage.complete_all(2).await;
    stage.clock.advance_until(Duration::from_millis(200), stream.until("[DONE]")).await;
    let answered = stage.clock.advance_until(Duration::from_millis(200), whole.until("Paris.")).await;
    assert!(answered.starts_with("HTTP/1.1 200 "), "{answered}");
    drop((whole, stream));
    stage.app.stop().await;
}

#[tokio::test]
async fn a_service_that_stops_answers_the_calls_that_wait() {
    let stage = Stage::start(&[]).await;
    let keyless = Stage::call(stage.app.client(), CHAT, &chat("a"));
    let keyed = Stage::call(stage.app.client().with("idempotency-key", "k"), CHAT, &chat("b"));
    stage.requests(2).await;
    stage.app.services.signals.stop();
    let keyless = stage.answer(keyless).await;
    refused(&keyless, 503, "still_waiting");
    assert_eq!((keyless.header("x-should-retry"), keyless.header("retry-after")), ("false", "1"));
    let keyed = stage.answer(keyed).await;
    refused(&keyed, 503, "still_waiting");
    assert_eq!(keyed.header("x-should-retry"), "");
    stage.app.stop().await;
}
