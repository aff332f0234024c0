//! Requests, from Create Request to their result.

use overnight_domain::requests::RequestStatus;
use serde_json::{Value, json};

use crate::support::{MODEL, TestApp};

/// The keys of an object in the order they stand in its text.
fn keys(text: &str) -> Vec<String> {
    let raw: Vec<(String, Box<serde_json::value::RawValue>)> = ordered(text);
    raw.into_iter().map(|(key, _)| key).collect()
}

fn ordered(text: &str) -> Vec<(String, Box<serde_json::value::RawValue>)> {
    struct Pairs;
    impl<'de> serde::de::Visitor<'de> for Pairs {
        type Value = Vec<(String, Box<serde_json::value::RawValue>)>;
        fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            out.write_str("an object")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::new();
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }
    let mut from = serde_json::Deserializer::from_str(text);
    serde::Deserializer::deserialize_map(&mut from, Pairs).expect("an object")
}

/// What stands in an array of one.
fn only(text: &str) -> &str {
    text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).expect("an array of one")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_created_read_and_completed() {
    let app = TestApp::start().await;
    let created = app.client().post("/v1/requests", &TestApp::quick_start("hello")).await;
    assert_eq!(created.status, 201);
    assert_eq!(keys(only(created.text())), ["id", "status", "created_at", "expires_at"]);
    let created = created.json()[0].clone();
    assert_eq!(created["status"], "registered");
    assert_eq!(created["expires_at"], json!(created["created_at"].as_i64().expect("a time") + 86_400));

    let path = format!("/v1/requests/{}", created["id"].as_str().expect("an id"));
    let status = app.client().get(&format!("{path}/status")).await;
    assert_eq!(keys(status.text()), ["id", "status", "created_at", "expires_at"]);

    let leases = app.lease_all().await;
    let status = app.client().get(&format!("{path}/status")).await;
    assert_eq!(status.json()["status"], "in progress");
    assert_eq!(keys(status.text()), ["id", "status", "created_at", "expires_at", "in_progress_at"]);

    assert!(app.settle(&leases[0], RequestStatus::Completed).await);
    let result = app.client().get(&path).await;
    assert_eq!(result.status, 200);
    let expected = [
        "id",
        "status",
        "created_at",
        "expires_at",
        "in_progress_at",
        "ended_at",
        "batch_id",
        "metadata",
        "request_body",
        "completion_window",
        "webhook",
        "result_body",
    ];
    assert_eq!(keys(only(result.text())), expected);
    let record: Value = result.json()[0].clone();
    assert_eq!(record["request_body"], TestApp::quick_start("hello")["request_body"]);
    assert_eq!(record["result_body"]["object"], "chat.completion");
    assert_eq!(record["result_body"]["model"], MODEL);
    app.stop().await;
}
