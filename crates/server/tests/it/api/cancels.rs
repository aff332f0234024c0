//! Cancel Request, on its own path and on the guide's.

use overnight_domain::requests::RequestStatus;

use crate::support::{START, TestApp, keys};

fn paths(id: &str) -> [String; 2] {
    [format!("/v1/requests/{id}/cancel"), format!("/v1/batches/{id}/cancel")]
}

#[tokio::test]
async fn a_cancelled_request_stays_cancelled_and_says_so_each_time() {
    let app = TestApp::start().await;
    for way in 0..2 {
        let id = app.create("to be cancelled").await;
        let first = app.client().send("POST", &paths(&id)[way], "").await.checked(200);
        assert_eq!(first.json()["status"], "cancelled");
        let expected = "id status created_at expires_at ended_at batch_id metadata request_body completion_window webhook";
        assert_eq!(keys(first.text()), expected);
        for path in paths(&id) {
            let again = app.client().send("POST", &path, "ignored, and not even JSON").await;
            assert_eq!((again.status, &again.body), (200, &first.body));
        }
    }
    let typed = app.client().with("content-type", "text/csv").with("content-encoding", "gzip");
    let id = app.create("with a type").await;
    assert_eq!(typed.send("POST", &paths(&id)[1], "a;b").await.status, 200);
    app.stop().await;
}

#[tokio::test]
async fn a_late_answer_to_a_cancelled_request_is_thrown_away() {
    let app = TestApp::start().await;
    let id = app.create("under way").await;
    let leases = app.lease_all().await;
    app.services.signals.take();
    let cancelled = app.client().send("POST", &paths(&id)[0], "").await.json();
    assert!(cancelled["in_progress_at"].is_i64() && cancelled["ended_at"].is_i64());
    assert_eq!(app.services.signals.take().ended, [leases[0].key.position.seq]);
    assert!(!app.settle(&leases[0], RequestStatus::Completed).await);
    let record = app.client().get(&format!("/v1/requests/{id}")).await.json();
    assert_eq!(record[0]["status"], "cancelled");
    assert_eq!(record[0].get("result_body"), None);
    app.stop().await;
}

#[tokio::test]
async fn what_has_ended_is_not_cancelled() {
    let app = TestApp::start().await;
    for status in [RequestStatus::Completed, RequestStatus::Failed] {
        let id = app.create("ends").await;
        app.settle_all(status).await;
        let before = app.client().get(&format!("/v1/requests/{id}")).await;
        for path in paths(&id) {
            let error = app.client().send("POST", &path, "").await.refused(409, "already_ended");
            assert!(error["message"].as_str().expect("a message").contains(status.as_str()), "{error}");
        }
        assert_eq!(app.client().get(&format!("/v1/requests/{id}")).await.body, before.body);
    }
    app.stop().await;
}

#[tokio::test]
async fn a_create_tells_the_scheduler_until_when_it_gathers() {
    let app = TestApp::start().await;
    app.services.signals.take();
    app.create("news").await;
    let gathering_until = app.services.signals.take().gathering_until.expect("news");
    let period = app.services.config().aggregation_period.0;
    assert_eq!(gathering_until, START + period);
    app.stop().await;
}
