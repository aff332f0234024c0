//! Creation of message batches.

use overnight_app::file_batches::{FillPause, fill_account};
use overnight_runtime::workers;
use serde_json::{Value, json};

use super::{BATCHES, params, params_with, refused};
use crate::support::{MODEL, START, TestApp, check_json};

fn request(custom_id: &str, params: &Value) -> Value {
    json!({"custom_id": custom_id, "params": params})
}

async fn create(app: &TestApp, requests: &Value) -> Value {
    let answered = app.client().post(&format!("{BATCHES}?beta=true"), &json!({"requests": requests})).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    answered.json()
}

async fn fill(app: &TestApp) {
    assert_eq!(fill_account(&app.services, app.account).await.expect("a filling"), FillPause::Idle);
}

async fn results(app: &TestApp, batch: &Value) -> Vec<Value> {
    let path = format!("{BATCHES}/{}/results", batch["id"].as_str().expect("an id"));
    let answered = app.client().get(&path).await.checked(200);
    answered.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[tokio::test]
async fn a_batch_is_made_though_some_of_its_params_are_bad() {
    let app = TestApp::start().await;
    let requests = json!([
        request("good", &params("hello")),
        request("unknown-model", &params_with(&json!({"model": "unknown"}))),
        request("bad-params", &json!({"model": MODEL, "messages": []})),
        request("stream", &params_with(&json!({"stream": true}))),
        request("better", &params_with(&json!({"system": "s"}))),
    ]);
    let made = create(&app, &requests).await;
    let found = (&made["processing_status"], &made["request_counts"]["processing"], &made["results_url"]);
    assert_eq!(found, (&json!("in_progress"), &json!(5), &Value::Null));
    assert_eq!(app.client().get("/openai/v1/files").await.json()["data"], json!([]), "no file is left");
    fill(&app).await;
    workers::files(&app.services, START).await.expect("a purge");
    let native = made["id"].as_str().expect("an id").replace("msgbatch_", "batch_");
    let counts = app.client().get(&format!("/v1/batches/{native}")).await.json()["requests_counts"].clone();
    assert_eq!((&counts["failed"], &counts["registered"]), (&json!(3), &json!(2)));
    app.complete_all().await;
    let results = results(&app, &made).await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let told: Vec<[String; 3]> = results
        .iter()
        .map(|line| {
            let error = &line["result"]["error"]["error"]["message"];
            [&line["custom_id"], &line["result"]["type"], error].map(text)
        })
        .collect();
    assert_eq!(
        told,
        [
            ["good", "succeeded", ""],
            [
                "unknown-model",
                "errored",
                "model: must be one of llama-3.1-8b-instruct, other, overnight-tiny, not 'unknown'"
            ],
            ["bad-params", "errored", "max_tokens: is required (and 1 more fault)"],
            ["stream", "errored", "stream: must not be true in a batch: its results are whole"],
            ["better", "succeeded", ""],
        ]
    );
    let record = app.client().get(&format!("/v1/batches/{native}/results")).await.lines();
    assert_eq!(record[4]["request_body"]["messages"][0], json!({"role": "system", "content": "s"}));
    assert_eq!(record[0]["metadata"], json!({"custom_id": "good"}));
    assert_eq!(record[1]["result_body"]["error"]["code"], "invalid_input");
    let path = format!("{BATCHES}/{}", made["id"].as_str().expect("an id"));
    assert_eq!(app.client().delete(&path).await.status, 200);
    assert_eq!(app.client().get("/v1/requests").await.ids(), Vec::<String>::new());
    app.stop().await;
}

#[tokio::test]
async fn a_batch_whose_params_are_all_bad_ends_by_itself() {
    let app = TestApp::start().await;
    let made = create(&app, &json!([request("a", &json!({})), request("b", &json!({}))])).await;
    fill(&app).await;
    let path = format!("{BATCHES}/{}", made["id"].as_str().expect("an id"));
    let ended = app.client().get(&path).await.json();
    check_json(&ended, &json!({"processing_status": "ended", "request_counts.errored": 2}));
    assert_eq!(results(&app, &made).await.len(), 2);
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_batch_makes_none() {
    let app = TestApp::start_with(&[("limits.batch_requests", "3")]).await;
    let good = request("a", &params("x"));
    for (body, expected) in [
        (json!([]).to_string(), "the body must be a JSON object"),
        (json!({}).to_string(), "the body has no requests: an array is required"),
        ("{\"requests\":[".to_owned(), "the body is not valid JSON: it breaks off before its end"),
        (json!({"requests": []}).to_string(), "requests: must hold at least one request"),
        (
            json!({"requests": [good], "betas": []}).to_string(),
            "the body has a member that is not known here: \"betas\"",
        ),
        (json!({"requests": [good, 7]}).to_string(), "requests.1: must be an object"),
        (json!({"requests": [{"params": {}}]}).to_string(), "requests.0.custom_id: is required"),
        (json!({"requests": [request("a", &json!(1))]}).to_string(), "requests.0.params: must be an object"),
        (json!({"requests": [good, good]}).to_string(), "requests.1.custom_id: stands in an earlier request"),
        (
            json!({"requests": (0..4).map(|n| request(&n.to_string(), &params("x"))).collect::<Vec<_>>()})
                .to_string(),
            "requests: must hold at most 3 requests",
        ),
        (format!("{{\"requests\":[{good},tru]}}"), "requests.1: cannot be read as JSON"),
    ] {
        let message =
            refused(&app.client().send("POST", BATCHES, body.clone()).await, 400, "invalid_request_error");
        assert!(message.starts_with(expected), "{body}: {message}");
    }
    let long = json!({"requests": [request("a", &params(&"x".repeat(9 << 20)))]});
    let message = refused(&app.client().post(BATCHES, &long).await, 400, "invalid_request_error");
    assert_eq!(message, "requests.0: must be at most 8388608 bytes");
    assert_eq!(app.client().get(BATCHES).await.json()["data"], json!([]));
    assert_eq!(app.client().get("/openai/v1/files").await.json()["data"], json!([]));
    app.stop().await;
}

#[tokio::test]
async fn a_batch_is_made_once_for_all_calls_with_its_key() {
    let app = TestApp::start().await;
    let client = app.client().with("idempotency-key", "k");
    let body = json!({"requests": [request("a", &params("x"))]});
    let first = client.post(BATCHES, &body).await;
    let second = client.post(BATCHES, &body).await;
    assert_eq!((first.json(), second.header("idempotent-replayed")), (second.json(), "true"));
    let other = json!({"requests": [request("b", &params("x"))]});
    refused(&client.post(BATCHES, &other).await, 400, "invalid_request_error");
    assert_eq!(app.client().get(BATCHES).await.json()["data"].as_array().map(Vec::len), Some(1));
    app.stop().await;
}

#[tokio::test]
async fn a_batch_of_many_requests_is_larger_than_a_body_may_be() {
    let app = TestApp::start().await;
    let text = "x".repeat(1 << 20);
    let requests: Vec<Value> = (0..20).map(|n| request(&format!("row-{n}"), &params(&text))).collect();
    let made = create(&app, &json!(requests)).await;
    fill(&app).await;
    app.complete_all().await;
    let ids: Vec<Value> = results(&app, &made).await.iter().map(|line| line["custom_id"].clone()).collect();
    assert_eq!(ids, (0..20).map(|n| json!(format!("row-{n}"))).collect::<Vec<_>>());
    app.stop().await;
}
