use overnight_domain::faults::Faults;
use overnight_domain::json::minimize;
use serde_json::{Value, json};

use super::{chat, text, value};
use crate::openai::responses::*;

fn params(faults: &Faults) -> Vec<&str> {
    faults.kept().iter().map(|fault| fault.param.as_str()).collect()
}

fn faults(body: &Value) -> Faults {
    chat_call(text(body).as_json()).expect_err("a fault")
}

#[test]
fn a_text_becomes_a_message_of_the_user_after_the_instructions() {
    let body = json!({"model": "m", "input": "Hi", "instructions": "Be kind.", "max_output_tokens": 9, "temperature": 0.50,
        "reasoning": {"effort": "low", "summary": "auto"}, "seed": 3, "stream": true, "background": false,
        "parallel_tool_calls": false, "metadata": {"a": "b"}, "previous_response_id": null, "user": "u"});
    let expected = json!({"model": "m", "max_tokens": 9, "temperature": 0.5, "reasoning_effort": "low", "seed": 3,
        "parallel_tool_calls": false, "user": "u",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]});
    assert_eq!(chat(&body), expected);
    let native = value(to_native(text(&body)).expect("a body").as_str());
    assert_eq!(native, json!({"request_body": expected, "metadata": {"a": "b"}}));
    assert_eq!(value(to_native(text(&json!("x"))).expect("no object").as_str()), json!("x"));
}

#[test]
fn items_become_messages_and_calls_join_what_the_model_said() {
    let input = json!([
        {"role": "developer", "content": "Rules."},
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "See"},
            {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"},
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="},
            {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Looking.", "annotations": []}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"x\":1}"},
        {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "2"}]},
        {"type": "function_call", "call_id": "c3", "name": "f", "arguments": "{}"},
    ]);
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let expected = json!([
        {"role": "developer", "content": "Rules."},
        {"role": "user", "content": [
            {"type": "text", "text": "See"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"}},
            {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]},
        {"role": "assistant", "content": "Looking.", "tool_calls": [call("c1", "f", "{\"x\":1}"), call("c2", "g", "{}")]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "tool", "tool_call_id": "c2", "content": "2"},
        {"role": "assistant", "content": null, "tool_calls": [call("c3", "f", "{}")]},
    ]);
    assert_eq!(chat(&json!({"model": "m", "input": input}))["messages"], expected);
}

#[test]
fn what_steers_the_call_is_read_and_its_faults_are_named() {
    let read = |body: &Value| Delivery::read(text(body).as_json());
    let body = json!({"stream": true, "background": true, "store": true, "include": [], "truncation": "disabled", "service_tier": "flex"});
    assert_eq!(read(&body), Ok(Delivery { is_stream: true, is_background: true }));
    assert_eq!(read(&json!({"store": null, "include": null, "truncation": null})), Ok(Delivery::default()));
    for (member, set) in [
        ("stream", json!(1)),
        ("background", json!("yes")),
        ("store", json!(false)),
        ("include", json!(["reasoning.encrypted_content"])),
        ("truncation", json!("auto")),
        ("service_tier", json!("best")),
    ] {
        let mut body = json!({});
        body[member] = set;
        assert_eq!(params(&read(&body).expect_err("a fault")), [member]);
    }
}

/// Members that are unsupported, at least with this value.
fn refused_members() -> Vec<(&'static str, Value)> {
    vec![
        ("access_programs", json!({})),
        ("background_options", json!({"completion_window": "2h"})),
        ("context_management", json!([])),
        ("conversation", json!("conv_1")),
        ("functions", json!([])),
        ("image", json!({})),
        ("max_completion_tokens", json!(1)),
        ("max_tokens", json!(1)),
        ("max_tool_calls", json!(1)),
        ("messages", json!([])),
        ("moderation", json!({})),
        ("n", json!(2)),
        ("previous_response_id", json!("resp_1")),
        ("prompt", json!({})),
        ("reasoning_effort", json!("low")),
        ("response_format", json!({})),
        ("top_logprobs", json!(1)),
        ("logprobs", json!(true)),
        ("instructions", json!([])),
        ("tools", json!({})),
        ("tool_choice", json!({"type": "web_search"})),
        ("text", json!("x")),
        ("reasoning", json!("low")),
    ]
}

/// Values refused because of a part, and the part's path.
fn refused_parts() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("tools", json!([{"type": "web_search"}]), "tools[0].type"),
        ("tools", json!([1]), "tools[0]"),
        ("text", json!({"format": {"type": "grammar"}}), "text.format.type"),
        ("text", json!({"format": 1}), "text.format"),
        ("reasoning", json!({"summary": "detailed"}), "reasoning.summary"),
    ]
}

/// Refused inputs and the path of the fault.
fn refused_inputs() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("input", json!(1), "input"),
        ("input", json!([1]), "input[0]"),
        ("input", json!([{"type": "item_reference", "id": "i"}]), "input[0].type"),
        ("input", json!([{"id": "i"}]), "input[0].type"),
        ("input", json!([{"role": "tool", "content": "x"}]), "input[0].role"),
        ("input", json!([{"role": "user"}]), "input[0].content"),
        ("input", json!([{"role": "user", "content": 1}]), "input[0].content"),
        ("input", json!([{"role": "user", "content": [{"type": "x"}]}]), "input[0].content[0].type"),
        ("input", json!([{"role": "user", "content": [1]}]), "input[0].content[0]"),
        (
            "input",
            json!([{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]),
            "input[0].content[0].file_id",
        ),
        (
            "input",
            json!([{"role": "user", "content": [{"type": "input_file", "file_url": "u"}]}]),
            "input[0].content[0].file_url",
        ),
        (
            "input",
            json!([{"role": "user", "content": [{"type": "input_audio"}]}]),
            "input[0].content[0].input_audio",
        ),
        ("input", json!([{"type": "function_call", "call_id": "c", "name": "f"}]), "input[0].arguments"),
        ("input", json!([{"type": "function_call_output", "call_id": "c"}]), "input[0].output"),
        ("input", json!([{"type": "function_call_output", "output": "x"}]), "input[0].call_id"),
    ]
}

#[test]
fn everything_that_is_not_supported_is_named() {
    let members = refused_members().into_iter().map(|(member, set)| (member, set, member));
    for (member, set, param) in members.chain(refused_parts()).chain(refused_inputs()) {
        let mut body = json!({"model": "m", "input": "x"});
        body[member] = set;
        assert_eq!(params(&faults(&body)), [param]);
    }
    assert_eq!(params(&faults(&json!({}))), ["input"]);
    assert_eq!(params(&faults(&json!([]))), [""]);
    let twice = minimize(br#"{"input":"a","input":"b"}"#, 0).expect("JSON");
    assert_eq!(params(&chat_call(twice.as_json()).expect_err("a fault")), ["input"]);
}
