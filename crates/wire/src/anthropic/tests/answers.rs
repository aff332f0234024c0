//! Answers of a model as messages, as events and as lines of results.

use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::{CallId, RequestId};
use overnight_domain::records::{ClientFields, RequestRecord, RequestSummary};
use overnight_domain::requests::RequestState;
use serde_json::{Value, json};

use crate::anthropic::Message;
use crate::anthropic::events::{PING, write_error_event, write_events};
use crate::anthropic::results::write_result;

pub(super) fn ended(state: RequestState, metadata: &Value, result: Option<&Value>) -> RequestRecord {
    let summary = RequestSummary { id: RequestId::from_bits(7), state, created_at: 0, expires_at: 1 };
    RequestRecord {
        summary,
        batch_id: None,
        endpoint: Endpoint::ChatCompletions,
        client: ClientFields { metadata: Some(metadata.to_string().into()), webhook: None },
        body: r#"{"model":"m","messages":[],"stop":["END"]}"#.into(),
        result: result.map(|result| result.to_string().into()),
        warnings: None,
        attempts: Vec::new(),
    }
}

fn completed(choice: &Value) -> RequestRecord {
    let result = json!({"id": "c", "object": "chat.completion", "model": "m", "choices": [choice],
        "usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13,
            "prompt_tokens_details": {"cached_tokens": 4}}});
    ended(RequestState::Completed { in_progress_at: 0, ended_at: 1 }, &json!({}), Some(&result))
}

fn message(choice: &Value) -> Value {
    let mut out = Vec::new();
    Message::of(&completed(choice)).write(&mut out);
    serde_json::from_slice(&out).expect("JSON")
}

#[test]
fn a_completion_becomes_a_message() {
    let choice = json!({"message": {"role": "assistant", "content": "Paris."}, "finish_reason": "stop"});
    assert_eq!(
        message(&choice),
        json!({"id": "msg_00000000000000000000000007", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": "Paris.", "citations": null}],
            "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 6, "cache_creation_input_tokens": null, "cache_read_input_tokens": 4,
                "output_tokens": 3}})
    );
}

#[test]
fn every_end_has_its_reason() {
    let call = json!([{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}}]);
    for (choice, reason, sequence) in [
        (json!({"message": {"content": "a"}, "finish_reason": "stop"}), "end_turn", Value::Null),
        (json!({"message": {"content": "a"}, "finish_reason": null}), "end_turn", Value::Null),
        (json!({"message": {"content": "a"}, "finish_reason": "length"}), "max_tokens", Value::Null),
        (json!({"message": {"content": "a"}, "finish_reason": "content_filter"}), "refusal", Value::Null),
        (
            json!({"message": {"content": null, "refusal": "no"}, "finish_reason": "stop"}),
            "refusal",
            Value::Null,
        ),
        (
            json!({"message": {"content": "a"}, "finish_reason": "stop", "stop_reason": "END"}),
            "stop_sequence",
            json!("END"),
        ),
        (
            json!({"message": {"content": "a"}, "finish_reason": "stop", "matched_stop": "END"}),
            "stop_sequence",
            json!("END"),
        ),
        (
            json!({"message": {"content": "a"}, "finish_reason": "stop", "stop_reason": "other"}),
            "end_turn",
            Value::Null,
        ),
        (
            json!({"message": {"content": null, "tool_calls": call}, "finish_reason": "tool_calls"}),
            "tool_use",
            Value::Null,
        ),
        (
            json!({"message": {"content": "a", "tool_calls": call}, "finish_reason": "stop"}),
            "tool_use",
            Value::Null,
        ),
        (
            json!({"message": {"content": "a", "tool_calls": []}, "finish_reason": "stop"}),
            "end_turn",
            Value::Null,
        ),
    ] {
        let message = message(&choice);
        assert_eq!(
            (&message["stop_reason"], &message["stop_sequence"]),
            (&json!(reason), &sequence),
            "{choice}"
        );
    }
}

#[test]
fn calls_become_blocks_whatever_a_model_writes() {
    let calls = |arguments: Value| {
        let call = json!({"id": "t", "function": {"name": "f", "arguments": arguments}});
        message(&json!({"message": {"content": "", "tool_calls": [call]}, "finish_reason": "tool_calls"}))
    };
    let block = |input: Value| json!([{"type": "tool_use", "id": "t", "name": "f", "input": input}]);
    assert_eq!(calls(json!("{\"x\": 1}"))["content"], block(json!({"x": 1})));
    assert_eq!(calls(json!({"x": 1}))["content"], block(json!({"x": 1})), "as some engines do");
    assert_eq!(calls(json!(""))["content"], block(json!({})));
    assert_eq!(calls(json!("{\"x\""))["content"], block(json!({"INVALID_JSON": "{\"x\""})));
    assert_eq!(calls(json!("[]"))["content"], block(json!({"INVALID_JSON": "[]"})));
    let unnamed = message(&json!({"message": {"tool_calls": [{"function": {"name": "f"}}]}}));
    assert_eq!(unnamed["content"][0]["id"], "toolu_req_00000000000000000000000007_0");
}

fn events(stream: &[u8]) -> Vec<(String, Value)> {
    let text = std::str::from_utf8(stream).expect("text");
    let parse = |event: &str| {
        let (name, data) = event.split_once('\n').expect("two lines");
        let name = name.strip_prefix("event: ").expect("a name").to_owned();
        (name, serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON"))
    };
    text.split_terminator("\n\n").map(parse).collect()
}

#[test]
fn a_stream_adds_up_to_its_message() {
    let call = json!({"id": "t", "function": {"name": "f", "arguments": "{\"x\":1}"}});
    let choice =
        json!({"message": {"content": "line\nline", "tool_calls": [call]}, "finish_reason": "tool_calls"});
    let mut out = PING.to_vec();
    write_events(&Message::of(&completed(&choice)), &mut out);
    let events = events(&out);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    assert_eq!(
        names,
        [&["ping", "message_start"][..], &block, &block, &["message_delta", "message_stop"]].concat()
    );
    assert!(events.iter().all(|(name, data)| data["type"] == *name));
    let whole = message(&choice);
    assert_eq!(events[1].1["message"]["id"], whole["id"]);
    assert_eq!(events[3].1["delta"], json!({"type": "text_delta", "text": "line\nline"}));
    assert_eq!(events[6].1["delta"], json!({"type": "input_json_delta", "partial_json": "{\"x\":1}"}));
    assert_eq!(events[8].1["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[8].1["usage"], whole["usage"]);
}

#[test]
fn a_stream_that_fails_ends_with_its_error() {
    let mut out = Vec::new();
    write_error_event("api_error", "no\nanswer", CallId::from_bits(0), &mut out);
    let expected = json!({"type": "error", "error": {"type": "api_error", "message": "no\nanswer"},
        "request_id": "call_00000000000000000000000000"});
    assert_eq!(events(&out), [("error".to_owned(), expected)]);
}

#[test]
fn a_line_of_results_tells_what_became_of_a_request() {
    let failed = RequestState::Failed { in_progress_at: None, ended_at: 1 };
    let error = |code: &str| json!({"error": {"message": "why", "type": "t", "code": code, "param": null}});
    let errored = |kind: &str| {
        json!({"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": "why"},
            "request_id": null}})
    };
    for (state, result, expected) in [
        (RequestState::Cancelled { in_progress_at: None, ended_at: 1 }, None, json!({"type": "canceled"})),
        (failed, Some(error("expired")), json!({"type": "expired"})),
        (failed, Some(error("engine_rejected")), errored("invalid_request_error")),
        (failed, Some(error("engine_unavailable")), errored("api_error")),
        (failed, Some(error("insufficient_credits")), errored("billing_error")),
    ] {
        let mut out = Vec::new();
        write_result(&ended(state, &json!({"custom_id": "a"}), result.as_ref()), &mut out);
        let line: Value = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(line, json!({"custom_id": "a", "result": expected}));
    }
    let mut out = Vec::new();
    let record = completed(&json!({"message": {"content": "a\u{2028}b"}, "finish_reason": "stop"}));
    write_result(&record, &mut out);
    let text = String::from_utf8(out).expect("text");
    assert!(text.contains("a\\u2028b"), "{text}");
    let line: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(line["custom_id"], "req_00000000000000000000000007");
    assert_eq!(
        (&line["result"]["type"], &line["result"]["message"]["content"][0]["text"]),
        (&json!("succeeded"), &json!("a\u{2028}b"))
    );
}
