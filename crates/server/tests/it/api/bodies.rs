//! Each invalid body is refused with its faults, and none does harm.

use serde_json::{Value, json};

use crate::support::{MODEL, TestApp, check_json};

fn around(request_body: &str) -> String {
    format!(r#"{{"request_body":{request_body}}}"#)
}

/// A Create Request with this text as a message's content.
fn saying(content: &str) -> String {
    around(&format!(r#"{{"model":"{MODEL}","messages":[{{"role":"user","content":{content}}}]}}"#))
}

/// A Create Request with members added to its `request_body`.
fn with(members: &str) -> String {
    around(&format!(r#"{{"model":"{MODEL}","messages":[{{"role":"user","content":"x"}}],{members}}}"#))
}

/// A Create Request with members beside its `request_body`.
fn beside(members: &str) -> String {
    let plain = TestApp::quick_start("x").to_string();
    format!("{},{members}}}", plain.strip_suffix('}').expect("an object"))
}

fn nested(depth: usize) -> String {
    beside(&format!(r#""metadata":{{"a":{}{}}}"#, "[".repeat(depth - 2), "]".repeat(depth - 2)))
}

/// Checks that Create Request refuses `body`, and the path and code of the first fault.
async fn check(app: &TestApp, body: impl Into<Vec<u8>>, param: &str, code: &str) {
    let body = body.into();
    let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
    let error = app.client().send("POST", "/v1/requests", body).await.refused(422, "invalid_input");
    let first = &error["details"][0];
    let found = (first["param"].as_str().unwrap_or(""), first["code"].as_str());
    assert_eq!(found, (param, Some(code)), "{shown}");
    assert_eq!(error["param"], first["param"]);
}

#[tokio::test]
async fn text_that_is_no_json_is_refused() {
    let app = TestApp::start().await;
    for (body, code) in [
        (String::new(), "invalid_json"),
        (" ".to_owned(), "invalid_json"),
        ("{".to_owned(), "invalid_json"),
        ("{\"request_body\":}".to_owned(), "invalid_json"),
        ("{'request_body':1}".to_owned(), "invalid_json"),
        (format!("{}x", TestApp::quick_start("x")), "invalid_json"),
        (format!("\u{feff}{}", TestApp::quick_start("x")), "invalid_json"),
        (saying("\"a\nb\""), "invalid_json"),
        (saying("\"\\x\""), "invalid_json"),
        (saying("\"\\ud800\""), "lone_surrogate"),
        (saying("\"\\udc00\\ud800\""), "lone_surrogate"),
        (with(r#""seed":1e400"#), "number_out_of_range"),
        (with(r#""seed":NaN"#), "invalid_json"),
        (with(r#""seed":Infinity"#), "invalid_json"),
        (with(r#""seed":01"#), "invalid_json"),
        (with(r#""seed":1,"#), "invalid_json"),
        (nested(65), "too_deep"),
        ("[".repeat(1_000_000), "too_deep"),
    ] {
        check(&app, body, "", code).await;
    }
    let mut bytes = saying("\"x\"").into_bytes();
    bytes.extend_from_slice(&[0xff]);
    check(&app, bytes, "", "invalid_utf8").await;
    app.stop().await;
}

#[tokio::test]
async fn values_of_the_wrong_type_or_beyond_their_bounds_are_refused_where_they_stand() {
    let app = TestApp::start().await;
    let wrong = "wrong_type";
    let cases = [
        ("[]".to_owned(), "", wrong),
        ("null".to_owned(), "", wrong),
        ("\"x\"".to_owned(), "", wrong),
        ("{}".to_owned(), "request_body", "missing"),
        (around("null"), "request_body", wrong),
        (around("[]"), "request_body", wrong),
        (around("{}"), "request_body.model", "missing"),
        (around(&format!(r#"{{"model":"{MODEL}"}}"#)), "request_body.messages", "missing"),
        (around(&format!(r#"{{"model":"{MODEL}","messages":[]}}"#)), "request_body.messages", "out_of_range"),
        (around(&format!(r#"{{"model":"{MODEL}","messages":{{}}}}"#)), "request_body.messages", wrong),
        (saying("1"), "request_body.messages[0].content", wrong),
        (saying("null"), "request_body.messages[0].content", wrong),
        (with(r#""temperature":"hot""#), "request_body.temperature", wrong),
        (with(r#""temperature":2.1"#), "request_body.temperature", "out_of_range"),
        (with(r#""top_p":-0.1"#), "request_body.top_p", "out_of_range"),
        (with(r#""max_tokens":0"#), "request_body.max_tokens", "out_of_range"),
        (with(r#""max_tokens":99999999999999999999"#), "request_body.max_tokens", "out_of_range"),
        (with(r#""n":129"#), "request_body.n", "out_of_range"),
        (with(r#""stream":"yes""#), "request_body.stream", wrong),
        (with(r#""max_tokens":1,"max_tokens":100000"#), "request_body.max_tokens", "duplicate_key"),
        (with(r#""priority":1"#), "request_body.priority", "not_allowed"),
        (beside(r#""metadata":[]"#), "metadata", wrong),
        (beside(r#""metadata":"x""#), "metadata", wrong),
        (beside(&format!(r#""metadata":{{"a":"{}"}}"#, "x".repeat(16 << 10))), "metadata", "out_of_range"),
        (beside(r#""webhook":7"#), "webhook", wrong),
        (beside(r#""webhook":"http://example.com""#), "webhook", "not_allowed"),
        (beside(r#""webhook":"https://user:pass@example.com""#), "webhook", "not_allowed"),
        (beside(r#""webhook":"""#), "webhook", "unknown_value"),
        (beside(r#""completion_window":"48h""#), "completion_window", "unknown_value"),
        (beside(r#""completion_window":null"#), "completion_window", wrong),
        (beside(r#""completion_window":24"#), "completion_window", wrong),
        (beside(r#""web_hook":"https://example.com""#), "web_hook", "unknown_field"),
        (beside(r#""metadata":{},"metadata":{}"#), "metadata", "duplicate_key"),
        (beside(r#""request_body":{}"#), "request_body", "duplicate_key"),
        (beside(r#""'; DROP TABLE requests; --":1"#), "'; DROP TABLE requests; --", "unknown_field"),
    ];
    for (body, param, code) in cases {
        check(&app, body, param, code).await;
    }
    app.stop().await;
}

#[tokio::test]
async fn every_fault_is_named_at_once() {
    let app = TestApp::start().await;
    for model in [json!(1), json!("gpt-17")] {
        let body = json!({
            "request_body": {"model": model, "messages": [{"role": "king", "content": 2}], "n": 0},
            "metadata": 3, "webhook": 4, "completion_window": 5, "extra": 6
        });
        let error = app.client().post("/v1/requests", &body).await.refused(422, "invalid_input");
        let mut params: Vec<&str> = error["details"]
            .as_array()
            .expect("details")
            .iter()
            .filter_map(|one| one["param"].as_str())
            .collect();
        params.sort_unstable();
        let expected = [
            "completion_window",
            "extra",
            "metadata",
            "request_body.messages[0].content",
            "request_body.messages[0].role",
            "request_body.model",
            "request_body.n",
            "webhook",
        ];
        assert_eq!(params, expected);
        assert!(error["message"].as_str().expect("a message").ends_with("(and 7 more faults)"), "{error}");
    }
    app.stop().await;
}

#[tokio::test]
async fn an_unknown_model_is_answered_with_those_there_are() {
    let app = TestApp::start().await;
    let mut body = TestApp::quick_start("x");
    body["request_body"]["model"] = json!("gpt-17");
    let error = app.client().post("/v1/requests", &body).await.refused(422, "invalid_input");
    assert_eq!(error["param"], "request_body.model");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains(MODEL) && message.contains("other") && message.contains("gpt-17"), "{message}");
    app.stop().await;
}

#[tokio::test]
async fn hostile_text_is_only_text() {
    let app = TestApp::start().await;
    let texts = [
        "'; DROP TABLE requests; --",
        "\" OR \"\"=\"",
        "1; UPDATE progress SET state = 3",
        "Robert'); DELETE FROM results;--",
        "\u{0}\u{1}\u{7f}\u{2028}\u{2029}",
        "=cmd|' /C calc'!A0",
        "</script><script>alert(1)</script>",
        "\r\nX-Injected: 1\r\n\r\n",
        "\u{202e}😀\u{10ffff}",
    ];
    for text in texts {
        let mut body = TestApp::quick_start(text);
        body["metadata"] = json!({ text: text });
        let created = app.client().post("/v1/requests", &body).await.checked(201);
        let path = format!("/v1/requests/{}", created.id());
        let record: Value = app.client().get(&path).await.json()[0].clone();
        check_json(&record, &json!({"metadata": body["metadata"], "request_body": body["request_body"]}));
    }
    assert_eq!(app.client().get("/v1/requests?full=true").await.lines().len(), texts.len());
    app.stop().await;
}

#[tokio::test]
async fn what_is_within_the_bounds_is_taken() {
    let app = TestApp::start().await;
    for body in [
        nested(64),
        with(r#""seed":1e308"#),
        with(r#""seed":123456789012345678901234567890"#),
        with(r#""temperature":null"#),
        beside(&format!(r#""metadata":{{"a":"{}"}}"#, "x".repeat((16 << 10) - 8))),
        saying(&format!("\"{}\"", "x".repeat(7 << 20))),
    ] {
        app.client().send("POST", "/v1/requests", body).await.checked(201);
    }
    app.stop().await;
}

#[tokio::test]
async fn a_body_is_json_or_says_nothing_of_its_type() {
    let app = TestApp::start().await;
    let body = TestApp::quick_start("x");
    for content_type in ["application/json", "application/json; charset=utf-8", "Application/JSON;x=y"] {
        let answered = app.client().with("content-type", content_type).post("/v1/requests", &body).await;
        assert_eq!(answered.status, 201, "{content_type}");
    }
    app.client().with("content-encoding", "identity").post("/v1/requests", &body).await.checked(201);
    for (name, value) in [
        ("content-type", "text/plain"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("content-type", "application/jsonp"),
        ("content-type", ""),
        ("content-encoding", "gzip"),
        ("content-encoding", "br"),
    ] {
        for path in ["/v1/requests", "/v1/batches"] {
            let answered = app.client().with(name, value).send("POST", path, "{").await;
            answered.refused(415, "unsupported_media_type");
        }
    }
    app.stop().await;
}
