use serde_json::{Value, json};

use super::support::{CHAT, Stage, chat, refused};
use crate::support::{MODEL, TestApp, check_json};

const RESPONSES: &str = "/openai/v1/responses";

fn response(more: &Value) -> Value {
    let mut body = json!({"model": MODEL, "input": "hello"});
    for (key, value) in more.as_object().expect("members") {
        body[key] = value.clone();
    }
    body
}

/// The names of a stream's events, and the data of the last.
fn events(text: &str) -> (Vec<&str>, Value) {
    let events =
        text.split_terminator("\n\n").filter_map(|event| event.strip_prefix("event: ")?.split_once('\n'));
    let (names, data): (Vec<&str>, Vec<&str>) = events.unzip();
    let last = data.last().and_then(|data| data.strip_prefix("data: ")).expect("an event");
    (names, serde_json::from_str(last).expect("JSON"))
}

#[tokio::test]
async fn a_response_waits_for_its_end_and_is_read_again_later() {
    let stage = Stage::start(&[]).await;
    let body = response(&json!({"instructions": "Be kind.", "metadata": {"a": "b"}, "max_output_tokens": 9}));
    let answered = stage.completed(RESPONSES, &body).await.checked(200);
    let whole = answered.json();
    assert_eq!((&whole["status"], &whole["object"]), (&json!("completed"), &json!("response")));
    assert_eq!(whole["output"][0]["content"][0]["text"], "Paris.");
    assert_eq!((&whole["instructions"], &whole["metadata"]), (&json!("Be kind."), &json!({"a": "b"})));
    let id = whole["id"].as_str().expect("an id");
    assert_eq!(id.replace("resp_", "req_"), answered.header("x-overnight-request"));
    let path = format!("{RESPONSES}/{id}");
    assert_eq!(stage.app.client().get(&path).await.json(), whole);
    assert_eq!(stage.app.client().get(&format!("{path}?include=x")).await.json(), whole);
    let items = stage.app.client().get(&format!("{path}/input_items?order=asc")).await.json();
    assert_eq!(items["data"][0]["content"][0]["text"], "hello");
    let native =
        stage.app.client().get(&format!("/v1/requests/{}", id.replace("resp_", "req_"))).await.json();
    assert_eq!(native[0]["request_body"]["messages"][0], json!({"role": "system", "content": "Be kind."}));
    stage.app.stop().await;
}

#[tokio::test]
async fn a_response_in_the_background_is_followed_cancelled_and_deleted() {
    let app = TestApp::start().await;
    let created = app.client().post(RESPONSES, &response(&json!({"background": true}))).await;
    assert_eq!((created.status, created.json()["status"].as_str()), (200, Some("queued")));
    let path = format!("{RESPONSES}/{}", created.id());
    let live = app.client().delete(&path).await;
    refused(&live, 409, "not_ended");
    assert_eq!(live.header("x-should-retry"), "false");
    let leases = app.lease_all().await;
    assert_eq!(app.client().get(&path).await.json()["status"], "in_progress");
    app.complete(&leases[0]).await;
    let whole = app.client().get(&path).await.json();
    assert_eq!((&whole["status"], &whole["usage"]["total_tokens"]), (&json!("completed"), &json!(4)));
    let ended = app.client().cancel(&path).await;
    let expected = "the response has already ended: it is completed";
    assert_eq!(refused(&ended, 409, "already_ended")["message"], expected);
    let deleted = app.client().delete(&path).await.json();
    assert_eq!((&deleted["deleted"], &deleted["id"]), (&json!(true), &whole["id"]));
    refused(&app.client().get(&path).await, 404, "not_found");

    let other = app.client().post(RESPONSES, &response(&json!({"background": true}))).await.json();
    let path = format!("{RESPONSES}/{}", other["id"].as_str().expect("an id"));
    for client in [app.stranger(), app.client()] {
        let cancelled = client.send("POST", &format!("{path}/cancel"), "{}").await;
        match cancelled.status {
            404 => assert_eq!(refused(&cancelled, 404, "not_found")["message"], "there is no such response"),
            _ => assert_eq!((cancelled.status, &cancelled.json()["status"]), (200, &json!("cancelled"))),
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn a_stream_begins_at_once_and_ends_with_the_response_and_is_resumed() {
    let stage = Stage::start(&[]).await;
    let answered = stage.completed(RESPONSES, &response(&json!({"stream": true, "background": true}))).await;
    assert_eq!((answered.status, answered.header("content-type")), (200, "text/event-stream; charset=utf-8"));
    let (names, last) = events(answered.text());
    assert_eq!((names[0], names[1]), ("response.created", "response.queued"));
    assert_eq!(
        (names.last(), &last["response"]["status"]),
        (Some(&"response.completed"), &json!("completed"))
    );
    let id = last["response"]["id"].as_str().expect("an id");
    let path = format!("{RESPONSES}/{id}?stream=true");
    assert_eq!(stage.app.client().get(&path).await.text(), answered.text());
    let resumed = stage.app.client().get(&format!("{path}&starting_after=4")).await;
    assert_eq!(events(resumed.text()).0, names[5..]);
    refused(&stage.app.client().get(&format!("{path}&starting_after=x")).await, 400, "invalid_input");
    stage.app.stop().await;
}

#[tokio::test]
async fn what_fails_is_an_error_of_the_call_and_the_last_event_of_a_stream() {
    let stage = Stage::start(&[]).await;
    let failed = stage.failed(RESPONSES, &response(&json!({}))).await;
    refused(&failed, 400, "engine_rejected");
    let id = failed.header("x-overnight-request");
    assert_eq!(id, "");
    let answered = stage.failed(RESPONSES, &response(&json!({"stream": true}))).await;
    let (names, last) = events(answered.text());
    assert_eq!(names, ["response.created", "response.queued", "response.failed"]);
    assert_eq!(last["response"]["error"]["message"], "no");
    stage.app.stop().await;
}

#[tokio::test]
async fn what_is_not_supported_is_named_in_the_terms_of_a_response() {
    let app = TestApp::start().await;
    let remote =
        json!([{"role": "user", "content": [{"type": "input_image", "image_url": "https://x.test/a.png"}]}]);
    for (more, param) in [
        (json!({"previous_response_id": "resp_1"}), "previous_response_id"),
        (json!({"tools": [{"type": "web_search"}]}), "tools[0].type"),
        (json!({"store": false}), "store"),
        (json!({"max_output_tokens": 0}), "max_output_tokens"),
        (json!({"temperature": 9}), "temperature"),
        (json!({"model": "unknown"}), "model"),
        (json!({"input": remote}), "input"),
        (json!({"input": []}), "input"),
        (json!({"best_of": 2}), "best_of"),
    ] {
        let error = refused(&app.client().post(RESPONSES, &response(&more)).await, 400, "invalid_input");
        assert_eq!(error["param"], param, "{error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.starts_with(param) && !message.contains("messages"), "{message}");
    }
    refused(&app.client().send("POST", RESPONSES, "[]").await, 400, "invalid_input");
    refused(&app.anonymous().post(RESPONSES, &response(&json!({}))).await, 401, "invalid_api_key");
    for id in ["resp_00000000000000000000000007", "req_00000000000000000000000007", "x"] {
        refused(&app.client().get(&format!("{RESPONSES}/{id}")).await, 404, "not_found");
        refused(&app.client().get(&format!("{RESPONSES}/{id}?stream=true")).await, 404, "not_found");
        refused(&app.client().get(&format!("{RESPONSES}/{id}/input_items")).await, 404, "not_found");
    }
    app.stop().await;
}

#[tokio::test]
async fn every_request_is_a_response_and_a_key_is_of_one_path() {
    let stage = Stage::start(&[]).await;
    let id = stage.app.create("native").await;
    stage.app.complete_all().await;
    let read = stage.app.client().get(&format!("{RESPONSES}/{}", id.replace("req_", "resp_"))).await.json();
    check_json(&read, &json!({"status": "completed", "output.0.content.0.text": "Paris."}));
    let client = stage.app.client().with("idempotency-key", "k");
    let background = response(&json!({"background": true}));
    let [first, second] =
        [client.post(RESPONSES, &background).await, client.post(RESPONSES, &background).await];
    assert_eq!(
        (first.json()["id"].clone(), second.header("idempotent-replayed")),
        (second.json()["id"].clone(), "true")
    );
    let other = Stage::call(client, CHAT, &chat("another path"));
    stage.complete_all(3).await;
    assert_eq!(stage.answer(other).await.status, 200);
    stage.app.stop().await;
}
