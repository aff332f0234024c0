//! Chat completions made from the params of a message.

use overnight_domain::chat::ChatBody;
use overnight_domain::json::minimize;
use overnight_domain::limits::Limits;
use serde_json::{Value, json};

use crate::anthropic::{Origins, asks_for_stream, to_chat, to_chat_in_batch, to_native};

fn chat(params: &Value) -> Value {
    let text = minimize(params.to_string().as_bytes(), 0).expect("JSON");
    let chat = to_chat(text.as_json()).unwrap_or_else(|faults| panic!("{params}: {:?}", faults.kept()));
    ChatBody::parse(chat.as_json(), "request_body", &Limits::default()).expect("a chat body");
    serde_json::from_str(chat.as_str()).expect("JSON")
}

#[expect(clippy::needless_pass_by_value, reason = "so that cases read well")]
fn messages(messages: Value) -> Value {
    chat(&json!({"model": "m", "max_tokens": 5, "messages": messages}))["messages"].take()
}

/// The chat completion for a message with `more` members, without those that every chat completion has.
fn beside(more: &Value) -> Value {
    let mut params = json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "a"}]});
    params.as_object_mut().expect("an object").append(&mut more.as_object().expect("an object").clone());
    let mut chat = chat(&params);
    let object = chat.as_object_mut().expect("an object");
    for key in ["model", "max_tokens", "messages"] {
        object.remove(key);
    }
    chat
}

#[test]
fn a_conversation_becomes_messages() {
    for (said, expected) in [
        (json!([{"role": "user", "content": "a"}]), json!([{"role": "user", "content": "a"}])),
        (
            json!([{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "b", "citations": null}]}]),
            json!([{"role": "user", "content": "a\nb"}]),
        ),
        (
            json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"},
                {"role": "assistant", "content": "c"}, {"role": "user", "content": "d"}]),
            json!([{"role": "user", "content": "a\nb"}, {"role": "assistant", "content": "c"},
                {"role": "user", "content": "d"}]),
        ),
        (
            json!([{"role": "user", "content": "a"}, {"role": "system", "content": "s"}]),
            json!([{"role": "user", "content": "a"}, {"role": "system", "content": "s"}]),
        ),
    ] {
        assert_eq!(messages(said.clone()), expected, "{said}");
    }
}

#[test]
fn media_and_documents_become_content_parts() {
    let content = json!([
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "text", "text": "what is this?"},
        {"type": "document", "title": "T", "context": "C", "citations": {"enabled": false},
            "source": {"type": "text", "media_type": "text/plain", "data": "D"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "BBBB"}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "E"}]}},
        {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "F"}]}
    ]);
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(
        messages(json!([{"role": "user", "content": content}])),
        json!([{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            text("what is this?"), text("T"), text("C"), text("D"),
            {"type": "file", "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,BBBB"}},
            text("E"), text("t"), text("s"), text("F")
        ]}])
    );
}

#[test]
fn calls_and_results_of_tools_become_messages_of_their_own() {
    let said = json!([
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "x"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "I look"},
            {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}},
            {"type": "tool_use", "id": "t2", "name": "g", "input": {}}
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [
                {"type": "text", "text": "one"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
            ]},
            {"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": true},
            {"type": "text", "text": "go on"}
        ]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t3", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t3"}]}
    ]);
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        messages(said),
        json!([
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "I look",
                "tool_calls": [call("t1", "f", "{\"x\":1}"), call("t2", "g", "{}")]},
            {"role": "tool", "tool_call_id": "t1", "content": "one"},
            {"role": "tool", "tool_call_id": "t2", "content": "Error: no"},
            {"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                {"type": "text", "text": "go on"}
            ]},
            {"role": "assistant", "content": null, "tool_calls": [call("t3", "f", "{}")]},
            {"role": "tool", "tool_call_id": "t3", "content": ""}
        ])
    );
}

#[test]
fn a_system_prompt_comes_first() {
    for system in [json!("s"), json!([{"type": "text", "text": "s"}])] {
        let params = json!({"model": "m", "max_tokens": 1, "system": system,
            "messages": [{"role": "user", "content": "a"}]});
        assert_eq!(chat(&params)["messages"][0], json!({"role": "system", "content": "s"}));
    }
}

#[test]
fn every_other_param_becomes_its_field_or_has_no_effect() {
    let tool = json!({"name": "f", "description": "d", "input_schema": {"type": "object"}});
    let function = json!({"name": "f", "description": "d", "parameters": {"type": "object"}});
    let schema = json!({"type": "json_schema", "schema": {"type": "object"}});
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "output", "schema": {"type": "object"}}});
    for (params, expected) in [
        (
            json!({"temperature": 0.5, "top_p": 1, "top_k": 4}),
            json!({"temperature": 0.5, "top_p": 1, "top_k": 4}),
        ),
        (json!({"stop_sequences": ["x"]}), json!({"stop": ["x"]})),
        (json!({"stop_sequences": []}), json!({})),
        (json!({"metadata": {"user_id": "u"}}), json!({"user": "u"})),
        (json!({"metadata": {"user_id": null}}), json!({})),
        (
            json!({"output_config": {"format": schema, "effort": "low"}}),
            json!({"reasoning_effort": "low", "response_format": format}),
        ),
        (json!({"output_format": schema}), json!({"response_format": format})),
        (
            json!({"thinking": {"type": "disabled"}, "service_tier": "auto", "stream": true, "speed": "standard",
            "cache_control": {"type": "ephemeral"}, "container": null}),
            json!({}),
        ),
        (json!({"tools": [tool]}), json!({"tools": [{"type": "function", "function": function}]})),
        (
            json!({"tools": [{"type": "custom", "name": "f", "input_schema": {}, "strict": true,
                "input_examples": [{"x": 1}], "allowed_callers": ["direct"]}],
            "tool_choice": {"type": "any", "disable_parallel_tool_use": true}}),
            json!({"tools": [{"type": "function", "function": {"name": "f",
                "description": "Example of an input: {\"x\":1}", "parameters": {}, "strict": true}}],
                "tool_choice": "required", "parallel_tool_calls": false}),
        ),
        (json!({"tools": [], "tool_choice": {"type": "none"}}), json!({"tool_choice": "none"})),
        (json!({"tools": [], "tool_choice": {"type": "auto"}}), json!({"tool_choice": "auto"})),
        (
            json!({"tools": [], "tool_choice": {"type": "tool", "name": "f"}}),
            json!({"tool_choice": {"type": "function", "function": {"name": "f"}}}),
        ),
    ] {
        assert_eq!(beside(&params), expected, "{params}");
    }
}

#[test]
fn the_params_of_a_message_become_the_body_of_create_request() {
    let params = r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}]}"#;
    let native = to_native(minimize(params.as_bytes(), 0).expect("JSON")).expect("a body");
    assert_eq!(native.as_str(), format!("{{\"request_body\":{params}}}"));
}

#[test]
fn a_stream_is_asked_for_outside_of_batches_alone() {
    let params = |stream: bool| {
        let params = json!({"model": "m", "max_tokens": 1, "stream": stream,
            "messages": [{"role": "user", "content": "a"}]});
        minimize(params.to_string().as_bytes(), 0).expect("JSON")
    };
    assert!(asks_for_stream(params(true).as_json()) && !asks_for_stream(params(false).as_json()));
    assert!(to_chat_in_batch(params(false).as_json()).is_ok());
    let faults = to_chat_in_batch(params(true).as_json()).expect_err("a fault");
    assert_eq!(faults.kept()[0].param, "stream");
}

#[test]
fn what_the_native_review_finds_is_told_where_the_client_put_it() {
    let params = json!({"model": "m", "max_tokens": 1, "system": "s", "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "tool_result", "tool_use_id": "t", "content": [
            {"type": "text", "text": "y"}, {"type": "image", "source": {"type": "url", "url": "https://h/i.png"}}]}]}
    ]});
    let params = minimize(params.to_string().as_bytes(), 0).expect("JSON");
    let chat = to_chat(params.as_json()).expect("a chat body");
    let faults =
        ChatBody::parse(chat.as_json(), "request_body", &Limits::default()).expect_err("remote media");
    let origins = Origins::of(params.as_json());
    assert_eq!(faults.kept()[0].param, "request_body.messages[4].content[1].image_url.url");
    assert_eq!(origins.locate(&faults.kept()[0].param), "messages.2.content.1.content.1.source");
    for (native, expected) in [
        ("request_body.max_tokens", "max_tokens"),
        ("request_body.stop", "stop_sequences"),
        ("request_body.user", "metadata.user_id"),
        ("request_body.messages[9].content[0]", "messages.9.content.0"),
        ("request_body.tools[1].function.name", "tools.1.name"),
        ("", ""),
    ] {
        assert_eq!(origins.locate(native), expected);
    }
}
