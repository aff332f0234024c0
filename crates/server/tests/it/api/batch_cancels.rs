use overnight_app::batches;
use overnight_domain::ids::BatchId;
use overnight_domain::requests::RequestStatus;
use overnight_store as store;
use serde_json::json;

use crate::support::{TestApp, check_json, keys};

#[tokio::test]
async fn a_cancelled_batch_takes_its_live_requests_along_and_leaves_the_others() {
    let app = TestApp::start().await;
    let (batch, ids) = app.create_batch(3).await;
    let outside = app.create("in no batch").await;
    let leases = app.lease_all().await;
    let of = |seq: i64| leases.iter().find(|lease| lease.key.position.seq == seq).expect("a lease");
    app.complete(of(1)).await;
    app.services.signals.take();

    let path = format!("/v1/batches/{batch}/cancel");
    let cancelled = app.client().send("POST", &path, "").await.checked(200);
    let all =
        "id status requests_counts created_at in_progress_at cancelled_at requests_ids webhook metadata";
    assert_eq!(keys(cancelled.text()), all);
    assert_eq!(cancelled.json()["status"], "cancelled");
    let counts =
        json!({"total": 3, "completed": 1, "failed": 0, "in_progress": 0, "registered": 0, "cancelled": 2});
    assert_eq!(cancelled.json()["requests_counts"], counts);
    assert!(cancelled.json()["cancelled_at"].is_i64());
    assert_eq!(app.services.signals.take().ended, [2, 3]);

    assert!(!app.settle(of(2), RequestStatus::Completed).await);
    app.complete(of(4)).await;
    let status = async |id: &str| {
        app.client().get(&format!("/v1/requests/{id}/status")).await.json()["status"].clone()
    };
    assert_eq!(status(&ids[0]).await, "completed");
    assert_eq!(status(&ids[2]).await, "cancelled");
    assert_eq!(status(&outside).await, "completed");
    let again = app.client().send("POST", &path, "").await;
    assert_eq!((again.status, &again.body), (200, &cancelled.body));
    app.stop().await;
}

#[tokio::test]
async fn a_completed_batch_is_not_cancelled() {
    let app = TestApp::start().await;
    let (batch, _) = app.create_batch(1).await;
    app.fail_all().await;
    let error = app.client().cancel(&format!("/v1/batches/{batch}")).await.refused(409, "already_ended");
    assert_eq!(error["message"], "the batch has already ended: it is completed");
    app.stop().await;
}

#[tokio::test]
async fn cancelling_one_request_leaves_the_rest_of_its_batch() {
    let app = TestApp::start().await;
    let (batch, ids) = app.create_batch(2).await;
    let record = app.client().cancel(&format!("/v1/batches/{}", ids[0])).await.json();
    assert_eq!((&record["status"], &record["batch_id"]), (&json!("cancelled"), &json!(batch)));
    let status = app.client().get(&format!("/v1/batches/{batch}/status")).await.json();
    check_json(&status, &json!({"status": "in progress", "requests_counts.registered": 1}));
    app.complete_all().await;
    let status = app.client().get(&format!("/v1/batches/{batch}/status")).await.json();
    assert_eq!(status["status"], "completed");
    app.stop().await;
}

#[tokio::test]
async fn a_cancel_that_a_crash_cut_short_is_carried_through() {
    let app = TestApp::start().await;
    let (batch, _) = app.create_batch(3).await;
    let id = BatchId::parse(&batch).expect("an id");
    let now = app.services.clock.now();
    let marked = store::batches::cancel(&app.services.store, app.account, id, now).await.expect("a mark");
    assert!(matches!(marked, store::batches::CancelBatchOutcome::Marked { .. }));
    let path = format!("/v1/batches/{batch}/status");
    assert_eq!(app.client().get(&path).await.json()["requests_counts"]["registered"], 3);
    batches::finish_cancels(&app.services, now).await.expect("the rest");
    assert_eq!(app.client().get(&path).await.json()["requests_counts"]["cancelled"], 3);
    app.stop().await;
}
