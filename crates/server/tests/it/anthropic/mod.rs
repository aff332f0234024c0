//! The dialect under `/anthropic/v1`.

mod batches;
mod creation;
mod errors;
mod messages;
mod models;
mod rates;

use serde_json::{Value, json};

use crate::support::{Answered, MODEL};

const MESSAGES: &str = "/anthropic/v1/messages";
const BATCHES: &str = "/anthropic/v1/messages/batches";

fn params(content: &str) -> Value {
    json!({"model": MODEL, "max_tokens": 16, "messages": [{"role": "user", "content": content}]})
}

fn params_with(more: &Value) -> Value {
    let mut params = params("hello");
    for (key, value) in more.as_object().expect("members") {
        params[key] = value.clone();
    }
    params
}

/// Checks a refusal in Anthropic's form and returns its message.
#[track_caller]
fn refused(answered: &Answered, status: u16, kind: &str) -> String {
    assert_eq!(answered.status, status, "{}", answered.text());
    let body = answered.json();
    let members: Vec<&str> = body.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(members, ["type", "error", "request_id"]);
    assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!(kind)), "{body}");
    assert_eq!(body["request_id"], answered.header("request-id"));
    assert!(answered.header("request-id").starts_with("call_"));
    assert_eq!(answered.header("content-type"), "application/json");
    body["error"]["message"].as_str().expect("a message").to_owned()
}
