//! Repeated calls with `Idempotency-Key`.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::{Client, TestApp};

const REPLAYED: &str = "idempotent-replayed";

fn keyed(app: &TestApp, key: &str) -> Client {
    app.client().with("idempotency-key", key)
}

#[tokio::test]
async fn five_calls_with_one_key_make_one_request_and_get_one_answer() {
    let app = TestApp::start().await;
    let client = keyed(&app, "nightly-17");
    let body = TestApp::quick_start("once");
    let answers = join_all((0..5).map(|_| client.post("/v1/requests", &body))).await;
    let is_so = answers.iter().all(|answer| answer.status == 201 && answer.body == answers[0].body);
    assert!(is_so, "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer.header(REPLAYED) == "true").count(), 4);
    assert_eq!(app.client().get("/v1/requests").await.lines().len(), 1);
    let late = client.post("/v1/requests/", &body).await;
    assert_eq!((late.body.as_slice(), late.header(REPLAYED)), (answers[0].body.as_slice(), "true"));
    assert_eq!(late.header("content-type"), "application/json");
    app.stop().await;
}

#[tokio::test]
async fn a_key_stands_for_one_body_path_and_account() {
    let app = TestApp::start().await;
    let client = keyed(&app, "key");
    assert_eq!(client.post("/v1/requests", &TestApp::quick_start("a")).await.status, 201);
    client.post("/v1/requests", &TestApp::quick_start("b")).await.refused(422, "idempotency_key_reused");
    let answers = [
        client.post("/exxa/v1/requests", &TestApp::quick_start("b")).await,
        app.stranger().with("idempotency-key", "key").post("/v1/requests", &TestApp::quick_start("b")).await,
        keyed(&app, "other").post("/v1/requests", &TestApp::quick_start("b")).await,
        app.client().post("/v1/requests", &TestApp::quick_start("b")).await,
    ];
    let is_so = answers.iter().all(|answer| answer.status == 201 && answer.header(REPLAYED).is_empty());
    assert!(is_so, "{answers:?}");
    app.stop().await;
}

#[tokio::test]
async fn what_was_refused_may_be_sent_again_with_its_key() {
    let app = TestApp::start().await;
    let client = keyed(&app, "key");
    client.post("/v1/requests", &json!({})).await.refused(422, "invalid_input");
    let created = client.post("/v1/requests", &TestApp::quick_start("a")).await;
    assert_eq!((created.status, created.header(REPLAYED)), (201, ""));
    app.stop().await;
}

#[tokio::test]
async fn a_batch_with_a_key_is_made_once() {
    let app = TestApp::start().await;
    let body = json!({"requests_ids": [app.create("a").await, app.create("b").await]});
    let client = keyed(&app, "key");
    let first = client.post("/v1/batches", &body).await;
    let again = client.post("/v1/batches", &body).await;
    assert_eq!((first.status, again.status), (201, 201), "{again:?}");
    assert_eq!((first.body, "true"), (again.body.clone(), again.header(REPLAYED)));
    let other = json!({"requests_ids": [app.create("c").await]});
    client.post("/v1/batches", &other).await.refused(422, "idempotency_key_reused");
    assert_eq!(app.client().get("/v1/batches").await.lines().len(), 1);
    app.stop().await;
}

#[tokio::test]
async fn a_key_that_is_none_is_refused_and_nothing_is_done() {
    let app = TestApp::start().await;
    let long = "k".repeat(256);
    for key in ["", "two words", &long] {
        let refused = keyed(&app, key).post("/v1/requests", &TestApp::quick_start("a")).await;
        assert_eq!(refused.refused(422, "invalid_input")["param"], "Idempotency-Key", "{key}");
    }
    let twice = keyed(&app, "a").with("idempotency-key", "b");
    twice.post("/v1/requests", &TestApp::quick_start("a")).await.refused(400, "invalid_headers");
    assert_eq!(app.client().get("/v1/requests").await.lines(), [Value::Null; 0]);
    app.stop().await;
}
