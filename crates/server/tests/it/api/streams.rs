//! Long lists: complete, in order, in constant memory, and never cut off without an error.

use axum::http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::json;

use crate::support::TestApp;

/// More than a page of the store.
const MANY: usize = 1_300;

#[tokio::test]
async fn a_list_of_many_pages_is_whole_and_in_order() {
    let app = TestApp::start().await;
    let mut ids = Vec::new();
    for chunk in 0..MANY / 100 {
        let client = app.client();
        let creates = (0..100).map(|place| {
            let client = client.clone();
            tokio::spawn(async move { client.create(&format!("{chunk} {place}")).await })
        });
        for create in creates.collect::<Vec<_>>() {
            ids.push(create.await.expect("a create"));
        }
    }
    app.complete_all().await;
    let body = json!({"requests_ids": ids});
    let batch = app.client().post("/v1/batches", &body).await.json()["id"].clone();
    let path = format!("/v1/batches/{}", batch.as_str().expect("an id"));
    ids.sort_unstable();
    let listed = app.client().get("/v1/requests").await;
    assert_eq!(listed.header("content-length"), "");
    let mut sorted = listed.ids();
    sorted.sort_unstable();
    assert_eq!(sorted, ids);
    for path in [format!("{path}/requests"), format!("{path}/results"), "/v1/requests?full=true".to_owned()] {
        assert_eq!(app.client().get(&path).await.ids(), listed.ids(), "{path}");
    }
    let mut newest_first = app.client().get("/v1/requests?order=desc&limit=600").await.ids();
    newest_first.reverse();
    assert_eq!(newest_first, listed.ids()[MANY - 600..]);
    assert_eq!(app.client().get(&path).await.json()["requests_ids"], body["requests_ids"]);
    app.stop().await;
}

#[tokio::test]
async fn a_list_that_fails_midway_is_cut_and_never_ended_cleanly() {
    let app = TestApp::start().await;
    let content = "x".repeat(1 << 20);
    for _ in 0..24 {
        app.create(&content).await;
    }
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let request = Request::get(format!("http://{}/v1/requests?full=true", app.address))
        .header("x-api-key", app.key())
        .body(Empty::new())
        .expect("a request");
    let response = client.request(request).await.expect("an answer");
    assert_eq!(response.status(), 200);
    app.services.store.close().await;
    assert!(response.into_body().collect().await.is_err(), "a part was taken for the whole");
}
