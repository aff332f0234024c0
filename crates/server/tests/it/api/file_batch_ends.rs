//! Batches of files that end before they are completely filled.

use overnight_app::file_batches::FillPause;
use overnight_runtime::workers;
use serde_json::json;

use super::openai_files::{batch, content, create, fill, lines, upload};
use crate::support::{START, TestApp, check_json};

#[tokio::test]
async fn a_batch_that_is_cancelled_half_filled_ends_with_what_it_had() {
    let app = TestApp::start_with(&[("quotas.live_requests", "300")]).await;
    let file = upload(&app, &lines(700)).await;
    let made = create(&app, &file).await;
    fill(&app).await;
    let lease = app.lease_all().await.remove(0);
    app.complete(&lease).await;
    let path = format!("/openai/v1/batches/{}", made["id"].as_str().expect("an id"));
    let cancelled = app.client().post(&format!("{path}/cancel"), &json!({})).await.json();
    assert_eq!(cancelled["status"], "cancelled");
    let counts = &cancelled["request_counts"];
    check_json(counts, &json!({"total": 700, "completed": 1, "cancelled": 699}));
    let native = path.replace("/openai/v1/", "/v1/");
    let seen = app.client().get(&native).await.json();
    let counts = &seen["requests_counts"];
    assert_eq!((&counts["total"], &counts["cancelled"]), (&json!(700), &json!(699)));
    assert_eq!(seen["requests_ids"].as_array().map(Vec::len), Some(300));
    assert_eq!(fill(&app).await, FillPause::Idle);
    assert_eq!(app.client().get("/v1/requests").await.lines().len(), 300);
    assert_eq!(content(&app, &cancelled["error_file_id"]).await.lines().count(), 299);
    let followed = app.client().get(&format!("{native}/results?follow=true")).await;
    assert_eq!(followed.lines().len(), 300, "what was no request has no record");
    assert_eq!(app.client().delete(&native).await.status, 200);
    app.stop().await;
}

#[tokio::test]
async fn a_batch_whose_window_ends_before_it_is_filled_has_expired() {
    let app = TestApp::start_with(&[("quotas.live_requests", "300")]).await;
    let made = create(&app, &upload(&app, &lines(400)).await).await;
    fill(&app).await;
    app.clock.set(START + 86_400_000);
    fill(&app).await;
    workers::expirer(&app.services, START + 86_400_000).await.expect("an expiry");
    assert_eq!(batch(&app, &made).await["status"], "expired");
    app.stop().await;
}

#[tokio::test]
async fn what_is_wrong_with_lines_is_stored_until_their_file_and_batch_are_deleted() {
    let app = TestApp::start().await;
    let used = async || {
        let account = app.client().get("/v1/account").await.json();
        account["quotas"]["stored_bytes"]["used"].as_i64().expect("a number")
    };
    let before = used().await;
    let file = upload(&app, &"a\n".repeat(100)).await;
    let with_file = used().await;
    assert!(with_file - before > 100 * 50, "{before} and {with_file}");
    let failed = create(&app, &file).await;
    assert_eq!(failed["status"], "failed");
    assert!(used().await - with_file > 100 * 50);
    let batch = format!("/v1/batches/{}", failed["id"].as_str().expect("an id"));
    for path in [format!("/openai/v1/files/{file}"), batch] {
        assert_eq!(app.client().delete(&path).await.status, 200, "{path}");
    }
    assert_eq!(used().await, before);
    app.stop().await;
}
