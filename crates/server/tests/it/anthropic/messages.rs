//! Messages, which wait until their requests end.

use serde_json::{Value, json};

use super::{MESSAGES, params, params_with, refused};
use crate::openai::support::Stage;
use crate::support::MODEL;

/// The names and data of a stream's events.
fn events(text: &str) -> Vec<(String, Value)> {
    let parse = |event: &str| {
        let (name, data) = event.split_once('\n').expect("two lines");
        let data = data.strip_prefix("data: ").expect("data");
        let name = name.strip_prefix("event: ").expect("a name").to_owned();
        (name, serde_json::from_str(data).expect("JSON"))
    };
    text.split_terminator("\n\n").map(parse).collect()
}

#[tokio::test]
async fn a_message_waits_for_the_end_of_its_request() {
    let stage = Stage::start(&[]).await;
    let client = stage.app.client().with("anthropic-version", "2023-06-01").with("anthropic-beta", "x,y");
    let body = params_with(&json!({"system": "s", "stop_sequences": ["END"], "metadata": {"user_id": "u"},
        "service_tier": "auto"}));
    let call = Stage::call(client, &format!("{MESSAGES}?beta=true&other=1"), &body);
    stage.complete_all(1).await;
    let answered = stage.answer(call).await.checked(200);
    let id = answered.header("x-overnight-request").to_owned();
    assert_eq!(
        answered.json(),
        json!({"id": id.replace("req_", "msg_"), "type": "message", "role": "assistant", "model": MODEL,
            "content": [{"type": "text", "text": "Paris.", "citations": null}], "stop_reason": "end_turn",
            "stop_sequence": null, "usage": {"input_tokens": 3, "cache_creation_input_tokens": null,
                "cache_read_input_tokens": null, "output_tokens": 1}})
    );
    let record = stage.app.client().record(&id).await;
    assert_eq!(
        record["request_body"],
        json!({"model": MODEL, "max_tokens": 16, "messages": [{"role": "system", "content": "s"},
            {"role": "user", "content": "hello"}], "stop": ["END"], "user": "u"})
    );
    stage.app.stop().await;
}

#[tokio::test]
async fn a_bearer_opens_it_too() {
    let stage = Stage::start(&[]).await;
    let client = stage.app.anonymous().with("authorization", &format!("Bearer {}", stage.app.key()));
    let call = Stage::call(client, MESSAGES, &params("hello"));
    stage.complete_all(1).await;
    assert_eq!(stage.answer(call).await.status, 200);
    stage.app.stop().await;
}

#[tokio::test]
async fn a_stream_pings_while_it_waits_and_adds_up_to_the_message() {
    let stage = Stage::start(&[]).await;
    let answered = stage.completed(MESSAGES, &params_with(&json!({"stream": true}))).await;
    assert_eq!((answered.status, answered.header("content-type")), (200, "text/event-stream; charset=utf-8"));
    let events = events(answered.text());
    let names: Vec<&str> =
        events.iter().map(|(name, _)| name.as_str()).filter(|name| *name != "ping").collect();
    assert_eq!(
        names,
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    assert_eq!(events[0].0, "ping", "it is answered at once");
    let text: String = events.iter().filter_map(|(_, data)| data["delta"]["text"].as_str()).collect();
    assert_eq!(text, "Paris.");
    stage.app.stop().await;
}

#[tokio::test]
async fn a_stream_whose_request_fails_ends_with_an_error() {
    let stage = Stage::start(&[]).await;
    let answered = stage.failed(MESSAGES, &params_with(&json!({"stream": true}))).await;
    let events = events(answered.text());
    let (name, data) = events.last().expect("events");
    assert_eq!((name.as_str(), &data["error"]["type"]), ("error", &json!("invalid_request_error")));
    stage.app.stop().await;
}

#[tokio::test]
async fn what_did_not_complete_is_an_error_that_is_not_repeated() {
    let stage = Stage::start(&[]).await;
    let failed = stage.failed(MESSAGES, &params("fails")).await;
    assert_eq!(refused(&failed, 400, "invalid_request_error"), "no");
    assert_eq!(failed.header("x-should-retry"), "false");
    stage.app.stop().await;
}
