mod calls;
mod objects;

use overnight_domain::json::{JsonText, minimize};
use serde_json::Value;

use super::chat_call;

fn text(value: &Value) -> JsonText {
    minimize(value.to_string().as_bytes(), 0).expect("JSON")
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn chat(body: &Value) -> Value {
    value(chat_call(text(body).as_json()).expect("a chat completion").body.as_str())
}
