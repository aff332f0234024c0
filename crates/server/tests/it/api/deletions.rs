use serde_json::json;

use crate::support::{TestApp, check_json};

#[tokio::test]
async fn a_request_that_has_ended_is_deleted_and_its_batch_keeps_its_counts() {
    let app = TestApp::start().await;
    let (batch, ids) = app.create_batch(2).await;
    let path = format!("/v1/requests/{}", ids[0]);
    app.client().delete(&path).await.refused(409, "not_ended");
    app.complete_all().await;
    app.stranger().delete(&path).await.refused(404, "not_found");
    let deleted = app.client().delete(&path).await;
    assert_eq!((deleted.status, deleted.json()), (200, json!({"id": ids[0], "deleted": true})));
    app.client().delete(&path).await.refused(404, "not_found");
    app.client().get(&path).await.refused(404, "not_found");
    let record = app.client().get(&format!("/v1/batches/{batch}")).await.json();
    check_json(&record, &json!({"status": "completed", "requests_counts.completed": 2}));
    assert_eq!(app.client().get(&format!("/v1/batches/{batch}/results")).await.ids(), [ids[1].clone()]);
    app.anonymous().delete(&path).await.refused(401, "invalid_api_key");
    app.stop().await;
}

#[tokio::test]
async fn a_batch_that_has_ended_is_deleted_with_its_requests() {
    let app = TestApp::start().await;
    let (batch, ids) = app.create_batch(2).await;
    let (path, request) = (format!("/v1/batches/{batch}"), format!("/v1/requests/{}", ids[0]));
    app.client().delete(&path).await.refused(409, "not_ended");
    app.complete_all().await;
    app.stranger().delete(&path).await.refused(404, "not_found");
    let deleted = app.client().delete(&path).await;
    assert_eq!((deleted.status, deleted.json()), (200, json!({"id": batch, "deleted": true})));
    app.client().delete(&path).await.refused(404, "not_found");
    for gone in [&path, &format!("/exxa{path}"), &format!("{path}/results"), &request] {
        app.client().get(gone).await.refused(404, "not_found");
    }
    assert_eq!(app.client().get("/v1/batches").await.ids(), Vec::<String>::new());
    assert_eq!(app.client().get("/v1/requests").await.ids(), Vec::<String>::new());
    app.stop().await;
}
