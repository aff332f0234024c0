use overnight_domain::json::{JsonText, minimize};
use serde_json::{Value, json};

use super::*;

fn text(value: &Value) -> JsonText {
    minimize(value.to_string().as_bytes(), 0).expect("JSON")
}

fn native(body: &Value) -> Value {
    serde_json::from_str(to_native(text(body)).expect("a body").as_str()).expect("JSON")
}

fn delivery(body: &Value) -> Result<Delivery, String> {
    Delivery::read(text(body).as_json()).map_err(|faults| faults.kept()[0].param.clone())
}

fn events(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).expect("text").strip_suffix("data: [DONE]\n\n").expect("an end");
    let data = text.split_terminator("\n\n").map(|event| event.strip_prefix("data: ").expect("data"));
    data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

#[test]
fn what_steers_the_call_is_left_out_and_the_rest_is_what_the_model_is_asked() {
    let body = json!({"model": "m", "messages": [], "seed": 7, "stream": true, "stream_options": {}, "store": true,
        "service_tier": "auto", "prompt_cache_key": "k", "safety_identifier": "s", "metadata": {"a": "b"}});
    let expected = json!({"metadata": {"a": "b"}, "request_body": {"model": "m", "messages": [], "seed": 7}});
    assert_eq!(native(&body), expected);
    assert_eq!(native(&json!({"metadata": null})), json!({"metadata": {}, "request_body": {}}));
    assert_eq!(native(&json!([1])), json!([1]));
}

#[test]
fn the_delivery_is_read_and_its_faults_are_named() {
    assert_eq!(delivery(&json!({})), Ok(Delivery::default()));
    let body = json!({"stream": true, "stream_options": {"include_usage": true}, "service_tier": "flex"});
    assert_eq!(delivery(&body), Ok(Delivery { is_stream: true, includes_usage: true }));
    for (body, param) in [
        (json!({"stream": "yes"}), "stream"),
        (json!({"stream_options": {"include_usage": 1}}), "stream_options.include_usage"),
        (json!({"service_tier": "best"}), "service_tier"),
        (json!({"service_tier": 1}), "service_tier"),
        (json!({"moderation": {"model": "m"}}), "moderation"),
    ] {
        assert_eq!(delivery(&body), Err(param.to_owned()));
    }
}

#[test]
fn a_completion_keeps_everything_but_its_tier() {
    let mut out = Vec::new();
    write_completion(br#"{"id":"c","service_tier":null,"x":1.50}"#, &mut out);
    assert_eq!(out, br#"{"id":"c","x":1.50,"service_tier":"flex"}"#);
}

#[test]
fn a_whole_completion_becomes_chunks_that_add_up_to_it() {
    let calls = json!([{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    let completion = json!({"id": "c", "object": "chat.completion", "created": 5, "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Hi\n", "reasoning_content": "hm", "tool_calls": null},
                "logprobs": {"content": []}, "finish_reason": "stop"},
            {"index": 1, "message": {"role": "assistant", "content": null, "tool_calls": calls}, "finish_reason": "tool_calls"},
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}});
    let mut out = Vec::new();
    write_chunks(completion.to_string().as_bytes(), true, &mut out);
    let events = events(&out);
    for event in &events {
        assert_eq!(
            (&event["id"], &event["object"], &event["created"]),
            (&json!("c"), &json!("chat.completion.chunk"), &json!(5))
        );
    }
    let (usage, chunks) = events.split_last().expect("events");
    assert_eq!((&usage["choices"], &usage["usage"]), (&json!([]), &completion["usage"]));
    let of = |index: i64| chunks.iter().map(|it| &it["choices"][0]).filter(move |it| it["index"] == index);
    let deltas: Vec<&Value> = of(0).map(|choice| &choice["delta"]).collect();
    assert_eq!(
        deltas,
        [
            &json!({"role": "assistant"}),
            &json!({"content": "Hi\n"}),
            &json!({"reasoning_content": "hm"}),
            &json!({})
        ]
    );
    assert_eq!(of(0).nth(1).expect("content")["logprobs"], json!({"content": []}));
    let (calls, end) = (of(1).nth(1).expect("calls"), of(1).next_back().expect("an end"));
    assert_eq!(calls["delta"]["tool_calls"][0]["index"], 0);
    assert_eq!(calls["delta"]["tool_calls"][0]["function"], json!({"name": "f", "arguments": "{}"}));
    assert_eq!(end["finish_reason"], "tool_calls");
}
