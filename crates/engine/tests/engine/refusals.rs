use serde_json::json;

use crate::support::{Engine, KEY, chat};

fn error(status: u16, code: &str, param: &str) -> (u16, String, String) {
    (status, code.to_owned(), param.to_owned())
}

#[test]
fn every_path_but_health_wants_the_key() {
    let engine = Engine::start(&[]);
    for (method, path) in
        [("GET", "/v1/models"), ("GET", "/metrics"), ("POST", "/v1/chat/completions"), ("GET", "/x")]
    {
        for key in ["", "wrong", &KEY.to_uppercase(), &KEY[1..]] {
            let answer = engine.request(method, path, key, "{}");
            assert_eq!(answer.error(), error(401, "invalid_api_key", ""), "{path} with {key:?}");
            assert!(answer.head.contains("www-authenticate: bearer"), "{}", answer.head);
        }
    }
    assert_eq!(engine.request("GET", "/health", "", "").status, 200);
}

#[test]
fn unknown_paths_and_methods_are_told_in_the_envelope() {
    let engine = Engine::start(&[]);
    assert_eq!(engine.request("GET", "/v1/other", KEY, "").error(), error(404, "not_found", ""));
    let wrong = engine.request("GET", "/v1/chat/completions", KEY, "");
    assert_eq!(wrong.error(), error(405, "method_not_allowed", ""));
}

#[test]
fn bad_bodies_are_refused_in_the_envelope() {
    let engine = Engine::start(&[]);
    for body in ["", "{", "[]", "{\"model\":\"tiny\"}", "\u{0}"] {
        assert_eq!(engine.post(body).error(), error(400, "", ""), "{body:?}");
    }
    let check = |fields: serde_json::Value, param: &str| {
        assert_eq!(engine.post(&chat("hi", &fields)).error(), error(400, "", param), "{fields}");
    };
    check(json!({ "stream": true }), "stream");
    check(json!({ "n": 0 }), "n");
    check(json!({ "temperature": 9 }), "temperature");
    check(json!({ "messages": [] }), "messages");
    check(
        json!({ "messages": [{ "role": "user", "content": [{ "type": "image_url" }] }] }),
        "messages[0].content[0]",
    );
    check(json!({ "logit_bias": { "999999999": 1 } }), "logit_bias");
    check(json!({ "response_format": { "type": "json_schema" } }), "response_format.json_schema");
    check(json!({ "tool_choice": "required" }), "tool_choice");
    let unsupported = engine.post(&chat("hi", &json!({ "mirostat": 2 })));
    assert_eq!(unsupported.error(), error(400, "unsupported_parameter", "mirostat"));
    let unknown = engine.post(&chat("hi", &json!({ "model": "other" })));
    assert_eq!(unknown.error(), error(404, "model_not_found", "model"));
}

#[test]
fn a_prompt_beyond_the_context_is_refused_and_one_that_fits_is_cut_at_it() {
    let engine = Engine::start(&["--context", "64"]);
    for length in [64, 1_000, 1_000_000] {
        let answer = engine.post(&chat(&"\u{1}".repeat(length), &json!({})));
        assert_eq!(answer.error(), error(400, "context_length_exceeded", "messages"), "{length}");
    }
    let answer = engine.ask(&"\u{1}".repeat(40), &json!({ "max_tokens": 1_000_000, "ignore_eos": true }));
    assert_eq!(answer["usage"]["total_tokens"], 64);
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
}

#[test]
fn a_body_over_the_limit_is_too_large() {
    let engine = Engine::start(&[]);
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: engine\r\nConnection: close\r\n";
    let length = 8 * 1024 * 1024 + 1;
    let announced = format!("{head}Authorization: Bearer {KEY}\r\nContent-Length: {length}\r\n\r\n");
    assert_eq!(engine.exchange(&announced).error(), error(413, "too_large", ""));
}
