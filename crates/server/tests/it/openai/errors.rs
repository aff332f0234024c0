use serde_json::json;

use super::support::{CHAT, chat, chat_with, refused};
use crate::support::{MODEL, TestApp};

#[tokio::test]
async fn every_refusal_has_the_status_that_its_class_is_told_by() {
    let app = TestApp::start().await;
    refused(&app.anonymous().post(CHAT, &chat("x")).await, 401, "invalid_api_key");
    refused(&app.client().get("/openai/v1/nothing").await, 404, "not_found");
    for (path, allow) in [
        (CHAT, "POST"),
        ("/openai/v1/responses", "POST"),
        ("/openai/v1/responses/x", "GET,HEAD,DELETE"),
        ("/openai/v1/responses/x/cancel", "POST"),
        ("/openai/v1/responses/x/input_items", "GET,HEAD"),
        ("/openai/v1/models", "GET,HEAD"),
        ("/openai/v1/models/x", "GET,HEAD"),
    ] {
        let answered = app.client().send("PATCH", path, "").await;
        refused(&answered, 405, "method_not_allowed");
        assert_eq!(answered.header("allow"), allow, "{path}");
        refused(&app.anonymous().send("PATCH", path, "").await, 401, "invalid_api_key");
    }
    let text = app.client().with("content-type", "text/plain").send("POST", CHAT, "{}").await;
    refused(&text, 415, "unsupported_media_type");
    refused(&app.client().send("POST", CHAT, "{").await, 400, "invalid_input");
    refused(&app.client().send("POST", CHAT, "[]").await, 400, "invalid_input");
    // The native dialect keeps its own form.
    app.client().send("POST", "/v1/requests", "{").await.refused(422, "invalid_input");
    app.stop().await;
}

#[tokio::test]
async fn a_fault_is_named_by_its_path_in_the_body_of_this_dialect() {
    let app = TestApp::start().await;
    for (more, param) in [
        (json!({"model": "unknown"}), "model"),
        (json!({"messages": [{"role": "nobody", "content": "x"}]}), "messages[0].role"),
        (json!({"temperature": 3}), "temperature"),
        (json!({"stream": 1}), "stream"),
        (json!({"metadata": "x"}), "metadata"),
        (json!({"web_search_options": {}}), "web_search_options"),
        (json!({"tools": [{"type": "browser_search"}]}), "tools[0].type"),
    ] {
        let error = refused(&app.client().post(CHAT, &chat_with(&more)).await, 400, "invalid_input");
        assert_eq!(error["param"], param, "{error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.starts_with(param) && !message.contains("request_body"), "{message}");
    }
    app.stop().await;
}

#[tokio::test]
async fn an_account_without_credits_has_an_insufficient_quota_and_is_not_asked_again() {
    let app = TestApp::start().await;
    let body = json!({"model": MODEL, "messages": [{"role": "user", "content": "x"}], "n": 128, "max_tokens": 2_000_000_000});
    let answered = app.client().post(CHAT, &body).await;
    let error = refused(&answered, 429, "insufficient_quota");
    assert_eq!((&error["type"], answered.header("x-should-retry")), (&json!("insufficient_quota"), "false"));
    app.stop().await;
}

#[tokio::test]
async fn unknown_query_parameters_are_ignored() {
    let app = TestApp::start().await;
    assert_eq!(app.client().get("/openai/v1/models?beta=true&limit=x").await.status, 200);
    refused(&app.client().post(&format!("{CHAT}?a=b"), &json!({})).await, 400, "invalid_input");
    app.stop().await;
}
