use serde_json::json;

use super::{BATCHES, MESSAGES, params, params_with, refused};
use crate::support::TestApp;

const UNKNOWN: &str = "msgbatch_01jz8m3v6qf8jbk2w5n7y9t0xd";

#[tokio::test]
async fn every_refusal_has_the_status_that_its_class_is_told_by() {
    let app = TestApp::start().await;
    let one = format!("{BATCHES}/{UNKNOWN}");
    for (path, allow) in [
        (MESSAGES.to_owned(), "POST"),
        (BATCHES.to_owned(), "GET,HEAD,POST"),
        (one.clone(), "GET,HEAD,DELETE"),
        (format!("{one}/cancel"), "POST"),
        (format!("{one}/results"), "GET,HEAD"),
        ("/anthropic/v1/models".to_owned(), "GET,HEAD"),
        ("/anthropic/v1/models/x".to_owned(), "GET,HEAD"),
    ] {
        let answered = app.client().send("PATCH", &path, "").await;
        refused(&answered, 405, "invalid_request_error");
        assert_eq!(answered.header("allow"), allow, "{path}");
        refused(&app.anonymous().send("PATCH", &path, "").await, 401, "authentication_error");
    }
    for path in ["/anthropic", "/anthropic/v1/messages/count_tokens", "/anthropic/v2/messages"] {
        refused(&app.client().get(path).await, 404, "not_found_error");
        refused(&app.anonymous().get(path).await, 401, "authentication_error");
    }
    for (method, path) in [
        ("GET", one.clone()),
        ("DELETE", one.clone()),
        ("POST", format!("{one}/cancel")),
        ("GET", format!("{one}/results")),
    ] {
        for path in [path.clone(), format!("{path}?x=%25"), path.replace(UNKNOWN, "x")] {
            refused(&app.client().send(method, &path, "").await, 404, "not_found_error");
        }
    }
    let text = app.client().with("content-type", "text/plain");
    refused(&text.send("POST", MESSAGES, "{}").await, 415, "invalid_request_error");
    refused(&text.send("POST", BATCHES, "{}").await, 415, "invalid_request_error");
    let long = app.client().send("POST", MESSAGES, vec![b' '; 9 << 20]).await;
    refused(&long, 413, "request_too_large");
    refused(&app.client().send("POST", MESSAGES, "{").await, 400, "invalid_request_error");
    let list = app.client().get(&format!("{BATCHES}?after_id={UNKNOWN}")).await;
    refused(&list, 404, "not_found_error");
    app.stop().await;
}

#[tokio::test]
async fn a_fault_is_told_by_its_path_in_the_params() {
    let app = TestApp::start().await;
    let image = json!({"type": "image", "source": {"type": "url", "url": "https://example.com/i.png"}});
    for (more, expected) in [
        (
            json!({"model": "unknown"}),
            "model: must be one of llama-3.1-8b-instruct, other, overnight-tiny, not 'unknown'",
        ),
        (json!({"max_tokens": null}), "max_tokens: is required"),
        (json!({"max_tokens": 0}), "max_tokens: must be between 1 and 2147483647"),
        (json!({"temperature": 3}), "temperature: must be between 0 and 2"),
        (
            json!({"thinking": {"type": "enabled"}, "container": "c"}),
            "container: must be null: there are no containers and no skills here (and 1 more fault)",
        ),
        (
            json!({"messages": [{"role": "user", "content": [image]}]}),
            "messages.0.content.0.source: is not fetched here: send the data as base64",
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "text"}]}]}),
            "messages.0.content.0.text: is required",
        ),
    ] {
        let answered = app.client().post(MESSAGES, &params_with(&more)).await;
        assert_eq!(refused(&answered, 400, "invalid_request_error"), expected, "{more}");
    }
    assert!(app.client().get("/v1/requests").await.lines().is_empty());
    app.stop().await;
}

#[tokio::test]
async fn an_account_that_cannot_pay_is_told_so() {
    let app = TestApp::start().await;
    let client = app.newcomer("poor").await.1;
    let answered = client.post(MESSAGES, &params("x")).await;
    refused(&answered, 402, "billing_error");
    assert_eq!(answered.header("x-should-retry"), "false");
    let body = json!({"requests": [{"custom_id": "a", "params": params("x")}]});
    refused(&client.post(BATCHES, &body).await, 402, "billing_error");
    let files = client.get("/openai/v1/files").await.json();
    assert_eq!(files["data"], json!([]), "nothing is left behind");
    assert_eq!(app.client().post(BATCHES, &body).await.status, 200);
    app.stop().await;
}
