use serde_json::{Value, json};

use super::support::{CHAT, Stage, chat, chat_with, refused};
use crate::support::check_json;

/// The data of a stream's events, without comments.
fn data(text: &str) -> Vec<&str> {
    text.split_terminator("\n\n").filter_map(|event| event.strip_prefix("data: ")).collect()
}

#[tokio::test]
async fn a_chat_completion_waits_for_the_end_of_its_request() {
    let stage = Stage::start(&[]).await;
    let body = chat_with(&json!({"store": true, "stream": false, "service_tier": "auto", "seed": 7,
        "metadata": {"row": "17"}}));
    let answered = stage.completed(CHAT, &body).await.checked(200);
    let completion = answered.json();
    assert_eq!(completion["choices"][0]["message"]["content"], "Paris.");
    check_json(&completion, &json!({"object": "chat.completion", "service_tier": "flex"}));
    let id = answered.header("x-overnight-request");
    let record = stage.app.client().record(id).await;
    let mut expected = chat("hello");
    expected["seed"] = json!(7);
    assert_eq!((&record["request_body"], &record["metadata"]), (&expected, &json!({"row": "17"})));
    stage.app.stop().await;
}

#[tokio::test]
async fn what_did_not_complete_is_an_error_that_is_not_repeated() {
    let stage = Stage::start(&[]).await;
    let failed = stage.failed(CHAT, &chat("fails")).await;
    assert_eq!(refused(&failed, 400, "engine_rejected")["message"], "no");
    assert_eq!(failed.header("x-should-retry"), "false");

    let cancelled = Stage::call(stage.app.client(), CHAT, &chat("is cancelled"));
    let ids = stage.requests(2).await;
    stage.app.client().cancel(&format!("/v1/requests/{}", ids[1])).await;
    let cancelled = stage.answer(cancelled).await;
    refused(&cancelled, 409, "cancelled");
    assert_eq!(cancelled.header("x-should-retry"), "false");

    let deleted = Stage::call(stage.app.client(), CHAT, &chat("is deleted"));
    let ids = stage.requests(3).await;
    let path = format!("/v1/requests/{}", ids[2]);
    stage.app.client().cancel(&path).await;
    stage.app.client().delete(&path).await;
    let deleted = stage.answer(deleted).await;
    // It sees the cancel if it looks before the deletion.
    let (status, code) = if deleted.status == 409 { (409, "cancelled") } else { (404, "not_found") };
    refused(&deleted, status, code);
    stage.app.stop().await;
}

#[tokio::test]
async fn a_stream_has_the_chunks_of_the_completion_and_its_usage_where_that_is_asked_for() {
    let stage = Stage::start(&[]).await;
    let body = chat_with(&json!({"stream": true, "stream_options": {"include_usage": true}}));
    let answered = stage.completed(CHAT, &body).await;
    assert_eq!((answered.status, answered.header("content-type")), (200, "text/event-stream; charset=utf-8"));
    assert!(answered.header("x-overnight-request").starts_with("req_"));
    let data = data(answered.text());
    let (end, chunks) = data.split_last().expect("events");
    assert_eq!(*end, "[DONE]");
    let chunks: Vec<Value> = chunks.iter().map(|chunk| serde_json::from_str(chunk).expect("JSON")).collect();
    let content: String =
        chunks.iter().filter_map(|it| it["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(content, "Paris.");
    assert_eq!(chunks[chunks.len() - 2]["choices"][0]["finish_reason"], "stop");
    assert_eq!(chunks[chunks.len() - 1]["usage"]["total_tokens"], 4);
    stage.app.stop().await;
}

#[tokio::test]
async fn a_stream_whose_request_fails_ends_with_an_error() {
    let stage = Stage::start(&[]).await;
    let answered = stage.failed(CHAT, &chat_with(&json!({"stream": true}))).await;
    let data = data(answered.text());
    assert_eq!((answered.status, data.len()), (200, 1));
    let error: Value = serde_json::from_str(data[0]).expect("JSON");
    check_json(&error, &json!({"error.code": "engine_rejected", "error.message": "no"}));
    stage.app.stop().await;
}

#[tokio::test]
async fn a_call_with_an_idempotency_key_is_one_request_that_every_repeat_waits_for() {
    let stage = Stage::start(&[]).await;
    let client = stage.app.client().with("idempotency-key", "k");
    let calls = [(); 2].map(|()| Stage::call(client.clone(), CHAT, &chat("once")));
    stage.requests(1).await;
    let [first, second] = calls;
    // The client disconnects, and its request stays in the queue.
    first.abort();
    stage.complete_all(1).await;
    assert_eq!(stage.answer(second).await.status, 200);
    let repeat = stage.answer(Stage::call(client.clone(), CHAT, &chat("once"))).await;
    assert_eq!((repeat.status, repeat.header("idempotent-replayed")), (200, "true"));
    assert_eq!(repeat.json()["choices"][0]["message"]["content"], "Paris.");
    refused(&client.post(CHAT, &chat("other")).await, 422, "idempotency_key_reused");
    assert_eq!(stage.requests(1).await.len(), 1);
    stage.app.stop().await;
}
