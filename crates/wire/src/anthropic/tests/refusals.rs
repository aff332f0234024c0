//! Refused params and the paths of their faults.

use overnight_domain::json::minimize;
use serde_json::{Value, json};

use crate::anthropic::to_chat;

/// The paths of the faults of params in which `with` replaces members.
fn faults(with: &Value) -> Vec<String> {
    let mut params = json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "a"}]});
    for (key, value) in with.as_object().expect("an object") {
        params[key] = value.clone();
    }
    faults_of(&params.to_string())
}

fn faults_of(params: &str) -> Vec<String> {
    let text = minimize(params.as_bytes(), 0).expect("JSON");
    let faults = to_chat(text.as_json()).expect_err(params);
    faults.kept().iter().map(|fault| fault.param.clone()).collect()
}

#[test]
fn params_that_cannot_be_kept_are_refused_by_their_names() {
    let tool = |tool: Value| json!({"tools": [tool]});
    for (with, expected) in [
        (json!({"model": null}), "model"),
        (json!({"max_tokens": null}), "max_tokens"),
        (json!({"messages": null}), "messages"),
        (json!({"messages": []}), "messages"),
        (json!({"messages": "a"}), "messages"),
        (json!({"mesages": []}), "mesages"),
        (json!({"n": 2}), "n"),
        (json!({"container": "c"}), "container"),
        (json!({"mcp_servers": []}), "mcp_servers"),
        (json!({"context_management": {}}), "context_management"),
        (json!({"thinking": {"type": "enabled", "budget_tokens": 1024}}), "thinking.type"),
        (json!({"thinking": {"type": "adaptive"}}), "thinking.type"),
        (json!({"speed": "fast"}), "speed"),
        (json!({"stream": 1}), "stream"),
        (json!({"top_k": -1}), "top_k"),
        (json!({"top_k": 1.5}), "top_k"),
        (json!({"stop_sequences": "x"}), "stop_sequences"),
        (json!({"stop_sequences": ["x", 1]}), "stop_sequences.1"),
        (json!({"metadata": {"user": "u"}}), "metadata.user"),
        (json!({"metadata": {"user_id": 1}}), "metadata.user_id"),
        (json!({"system": [{"type": "image"}]}), "system.0.type"),
        (json!({"system": 1}), "system"),
        (json!({"output_config": {"effort": "max"}}), "output_config.effort"),
        (json!({"output_config": {"format": {"type": "text"}}}), "output_config.format.type"),
        (json!({"output_config": {"format": {"type": "json_schema"}}}), "output_config.format.schema"),
        (json!({"tool_choice": {"type": "auto"}}), "tool_choice"),
        (json!({"tools": [], "tool_choice": {"type": "some"}}), "tool_choice.type"),
        (json!({"tools": [], "tool_choice": {"type": "tool"}}), "tool_choice.name"),
        (tool(json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 5})), "tools.0.type"),
        (tool(json!({"name": "f"})), "tools.0.input_schema"),
        (tool(json!({"name": "f", "input_schema": []})), "tools.0.input_schema"),
        (tool(json!({"name": "f", "input_schema": {}, "defer_loading": true})), "tools.0.defer_loading"),
        (
            tool(json!({"name": "f", "input_schema": {}, "allowed_callers": ["code_execution_20250825"]})),
            "tools.0.allowed_callers",
        ),
    ] {
        assert_eq!(faults(&with), [expected], "{with}");
    }
}

#[test]
fn messages_that_cannot_be_kept_are_refused_where_they_stand() {
    let user = |block: Value| json!([{"role": "user", "content": [block]}]);
    let image = |source: Value| json!([{"role": "user", "content": [{"type": "image", "source": source}]}]);
    let document =
        |source: Value| json!([{"role": "user", "content": [{"type": "document", "source": source}]}]);
    for (messages, expected) in [
        (json!([1]), "messages.0"),
        (json!([{"role": "user"}]), "messages.0.content"),
        (json!([{"role": "user", "content": []}]), "messages.0.content"),
        (json!([{"role": "user", "content": 1}]), "messages.0.content"),
        (json!([{"role": "tool", "content": "a"}]), "messages.0.role"),
        (json!([{"role": "user", "content": "a", "name": "n"}]), "messages.0.name"),
        (json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]), "messages"),
        (user(json!("a")), "messages.0.content.0"),
        (user(json!({"text": "a"})), "messages.0.content.0.type"),
        (user(json!({"type": "text"})), "messages.0.content.0.text"),
        (user(json!({"type": "text", "text": 1})), "messages.0.content.0.text"),
        (user(json!({"type": "tool_use", "id": "t", "name": "f", "input": {}})), "messages.0.content.0.type"),
        (user(json!({"type": "server_tool_use"})), "messages.0.content.0.type"),
        (user(json!({"type": "tool_result"})), "messages.0.content.0.tool_use_id"),
        (
            user(json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "x"}]})),
            "messages.0.content.0.content.0.type",
        ),
        (
            image(json!({"type": "base64", "media_type": "image/bmp", "data": ""})),
            "messages.0.content.0.source.media_type",
        ),
        (image(json!({"type": "file", "file_id": "f"})), "messages.0.content.0.source"),
        (image(json!({"type": "url"})), "messages.0.content.0.source.url"),
        (document(json!({"type": "url", "url": "https://h"})), "messages.0.content.0.source"),
        (
            document(json!({"type": "base64", "media_type": "text/plain", "data": ""})),
            "messages.0.content.0.source.media_type",
        ),
        (
            user(json!({"type": "document", "citations": {"enabled": true},
            "source": {"type": "text", "media_type": "text/plain", "data": ""}})),
            "messages.0.content.0.citations.enabled",
        ),
        (
            json!([{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": "{}"}]},
            {"role": "user", "content": "a"}]),
            "messages.0.content.0.input",
        ),
    ] {
        assert_eq!(faults(&json!({"messages": messages})), [expected], "{messages}");
    }
}

#[test]
fn two_parsers_cannot_read_two_params() {
    for (params, expected) in [
        (
            r#"{"model":"m","max_tokens":1,"max_tokens":2,"messages":[{"role":"user","content":"a"}]}"#,
            "max_tokens",
        ),
        (
            r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a","content":"b"}]}"#,
            "messages.0.content",
        ),
        (
            r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}]}"#,
            "messages.0.content.0.text",
        ),
    ] {
        assert_eq!(faults_of(params), [expected], "{params}");
    }
    assert_eq!(faults_of("[]"), [""]);
}
