//! Batches of all dialects as Anthropic's clients read them.

use serde_json::{Value, json};

use super::{BATCHES, refused};
use crate::support::{START, TestApp, check_json};

const DAY_MS: i64 = 86_400_000;

fn named(batch: &str) -> String {
    batch.replace("batch_", "msgbatch_")
}

async fn get(app: &TestApp, id: &str) -> Value {
    app.client().read(&format!("{BATCHES}/{id}?beta=true")).await
}

async fn results(app: &TestApp, batch: &Value) -> Vec<Value> {
    let url = batch["results_url"].as_str().expect("an address");
    let path = url.strip_prefix(&format!("http://{}", app.address)).expect("an address of this service");
    let answered = app.client().get(path).await;
    assert_eq!((answered.status, answered.header("content-type")), (200, "application/x-jsonl"));
    answered.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[tokio::test]
async fn a_batch_of_the_native_dialect_is_followed_to_its_results() {
    let app = TestApp::start().await;
    let (batch, requests) = app.create_batch(2).await;
    let id = named(&batch);
    let live = get(&app, &id).await;
    check_json(&live, &json!({"id": id, "processing_status": "in_progress", "results_url": null}));
    assert_eq!(live["request_counts"]["processing"], 2);
    let early = app.client().get(&format!("{BATCHES}/{id}/results")).await;
    assert!(refused(&early, 400, "invalid_request_error").contains("has not ended"));
    let leases = app.lease_all().await;
    app.complete(&leases[0]).await;
    app.fail(&leases[1]).await;
    let ended = get(&app, &id).await;
    check_json(
        &ended,
        &json!({"processing_status": "ended", "request_counts": {"processing": 0, "succeeded": 1, "errored": 1, "canceled": 0, "expired": 0}, "created_at": "2025-06-15T15:06:40Z"}),
    );
    let results = results(&app, &ended).await;
    let ids: Vec<&str> = results.iter().map(|line| line["custom_id"].as_str().expect("an id")).collect();
    assert_eq!(ids, requests);
    let mut kinds: Vec<&str> =
        results.iter().map(|line| line["result"]["type"].as_str().expect("a type")).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["errored", "succeeded"]);
    refused(&app.stranger().get(&format!("{BATCHES}/{id}")).await, 404, "not_found_error");
    app.stop().await;
}

#[tokio::test]
async fn requests_whose_window_ended_count_as_expired() {
    let app = TestApp::start().await;
    let (batch, _) = app.create_batch(2).await;
    let lease = app.lease_all().await.remove(0);
    app.fail(&lease).await;
    overnight_runtime::workers::expirer(&app.services, START + DAY_MS).await.expect("an expiry");
    let ended = get(&app, &named(&batch)).await;
    let expected = json!({"processing": 0, "succeeded": 0, "errored": 1, "canceled": 0, "expired": 1});
    assert_eq!(ended["request_counts"], expected);
    let mut kinds: Vec<Value> =
        results(&app, &ended).await.iter().map(|line| line["result"]["type"].clone()).collect();
    kinds.sort_unstable_by_key(ToString::to_string);
    assert_eq!(kinds, ["errored", "expired"]);
    app.stop().await;
}

#[tokio::test]
async fn a_batch_is_cancelled_and_then_deleted() {
    let app = TestApp::start().await;
    let (batch, _) = app.create_batch(2).await;
    let path = format!("{BATCHES}/{}", named(&batch));
    let kept = app.client().delete(&path).await;
    assert!(refused(&kept, 400, "invalid_request_error").contains("cancel it first"));
    for _ in 0..2 {
        let cancelled = app.client().cancel(&path).await.json();
        assert_eq!(
            (
                &cancelled["processing_status"],
                &cancelled["request_counts"]["canceled"],
                &cancelled["cancel_initiated_at"]
            ),
            (&json!("ended"), &json!(2), &json!("2025-06-15T15:06:40Z"))
        );
    }
    let deleted = app.client().delete(&path).await;
    assert_eq!(deleted.json(), json!({"id": named(&batch), "type": "message_batch_deleted"}));
    refused(&app.client().delete(&path).await, 404, "not_found_error");
    refused(&app.client().get(&path).await, 404, "not_found_error");
    app.client().get(&format!("/v1/batches/{batch}")).await.refused(404, "not_found");
    let completed = app.create_batch(1).await.0;
    app.complete_all().await;
    let late = app.client().send("POST", &format!("{BATCHES}/{}/cancel", named(&completed)), "").await;
    refused(&late, 400, "invalid_request_error");
    app.stop().await;
}

#[tokio::test]
async fn batches_are_listed_in_pages_that_begin_at_either_side_of_one() {
    let app = TestApp::start().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.insert(0, named(&app.create_batch(1).await.0));
    }
    let list = async |query: &str| {
        let page = app.client().get(&format!("{BATCHES}?{query}")).await.json();
        let data = page["data"].as_array().expect("a list");
        let found: Vec<String> = data.iter().map(|it| it["id"].as_str().expect("an id").to_owned()).collect();
        assert_eq!((&page["first_id"], &page["last_id"]), (&json!(found.first()), &json!(found.last())));
        (found, page["has_more"] == true)
    };
    assert_eq!(list("beta=true").await, (ids.clone(), false));
    assert_eq!(list("limit=2").await, (ids[..2].to_vec(), true));
    assert_eq!(list(&format!("limit=2&after_id={}", ids[1])).await, (ids[2..4].to_vec(), true));
    assert_eq!(list(&format!("limit=2&after_id={}", ids[3])).await, (ids[4..].to_vec(), false));
    assert_eq!(list(&format!("limit=2&before_id={}", ids[4])).await, (ids[2..4].to_vec(), true));
    assert_eq!(list(&format!("limit=2&before_id={}", ids[1])).await, (ids[..1].to_vec(), false));
    assert_eq!(list(&format!("before_id={}", ids[0])).await, (Vec::new(), false));
    app.stop().await;
}
