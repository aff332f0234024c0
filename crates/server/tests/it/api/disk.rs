//! Answers while the disk fills up. Only SQLite's folder is on this machine's disk.

use overnight_app::requests::waiting::{self, WaitingReason};
use overnight_domain::requests::RequestState;
use serde_json::json;

use crate::support::{MODEL, TestApp};

#[tokio::test]
async fn a_disk_that_fills_up_refuses_creates_and_nothing_else() {
    let app = TestApp::start().await;
    if app.services.store.is_shared() {
        return app.stop().await;
    }
    let (done, waits) = (app.create("done").await, app.create("waits").await);
    let leases = app.lease_all().await;
    let first = leases.iter().min_by_key(|lease| lease.key.position.seq).expect("a lease");
    app.services.store.set_disk_reserve(u64::MAX).await.expect("a reserve");

    let client = app.client();
    let bodies =
        [("/v1/requests", TestApp::quick_start("x")), ("/v1/batches", json!({"requests_ids": [&waits]}))];
    for (path, body) in &bodies {
        let answered = client.post(path, body).await;
        let error = answered.refused(503, "unavailable");
        let is_so = error["message"].as_str().is_some_and(|it| it.contains("the disk is nearly full"));
        assert!(is_so, "{error}");
        assert_eq!(answered.header("retry-after"), "1");
    }
    app.complete(first).await;
    let settled = client.get(&format!("/v1/requests/{done}/status")).await.json();
    assert_eq!(settled["status"], "completed");
    assert_eq!(client.get("/v1/requests").await.status, 200);
    client.cancel(&format!("/v1/requests/{waits}")).await.checked(200);
    let reason = waiting::reason(&app.services, MODEL, &RequestState::Queued).await;
    assert_eq!(reason.expect("a reason"), Some(WaitingReason::DiskReserved));
    assert_eq!(app.anonymous().get("/readyz").await.status, 200);
    app.check_counted("overnight_disk_free_bytes ").await;
    app.check_counted("overnight_disk_reserve_bytes ").await;

    app.services.store.set_disk_reserve(0).await.expect("a reserve");
    assert_eq!(client.post("/v1/requests", &TestApp::quick_start("y")).await.status, 201);
    app.stop().await;
}
