//! Quotas: an abusive account is refused, and an honest one beside it is not.

use overnight_app::accounts::quotas;
use overnight_app::errors::AppError;
use overnight_app::submissions;
use overnight_domain::quotas::{Quota, Quotas};
use overnight_runtime::workers;
use serde_json::{Value, json};

use crate::support::{Answered, Client, MODEL, START, TestApp};

const DAY_MS: i64 = 86_400_000;

/// Creates a request of about this many bytes.
async fn post(client: &Client, bytes: usize) -> Answered {
    client.post("/v1/requests", &TestApp::quick_start(&"a".repeat(bytes))).await
}

fn id(answered: &Answered) -> String {
    answered.id()
}

/// The used amount and the limit of a quota.
async fn quota(client: &Client, quota: Quota) -> [Value; 2] {
    let account = client.get("/v1/account").await.json();
    ["used", "limit"].map(|name| account["quotas"][quota.name()][name].clone())
}

async fn allow(app: &TestApp, quota: Quota, limit: Option<i64>) {
    let account = app.own().await;
    quotas::set(&app.services, account.id, &[(quota, limit)]).await.expect("a write");
}

#[tokio::test]
async fn live_requests_are_bounded_until_some_end() {
    let app = TestApp::start_with(&[("quotas.live_requests", "2")]).await;
    let client = app.client();
    let first = id(&post(&client, 1).await);
    assert_eq!(post(&client, 1).await.status, 201);
    let refused = post(&client, 1).await;
    let error = refused.refused(429, "quota_exceeded");
    assert_eq!((&error["type"], refused.header("retry-after")), (&"rate_limit_error".into(), "10"));
    assert!(error["message"].as_str().is_some_and(|text| text.contains("live_requests")), "{error}");
    assert_eq!(quota(&client, Quota::LiveRequests).await, [json!(2), json!(2)]);
    assert_eq!(client.get("/v1/requests").await.lines().len(), 2, "reads go on, and nothing was stored");
    assert_eq!(post(&app.stranger(), 1).await.status, 201, "another account has its own");
    app.check_counted(r#"overnight_quota_exceeded_total{quota="live_requests"}"#).await;
    assert_eq!(client.cancel(&format!("/v1/requests/{first}")).await.status, 200);
    assert_eq!(post(&client, 1).await.status, 201);
    app.stop().await;
}

#[tokio::test]
async fn an_account_that_creates_and_cancels_for_ever_fills_its_own_quota_and_no_more() {
    let app = TestApp::start_with(&[("quotas.stored_bytes", "2 MiB")]).await;
    let client = app.client();
    let mut taken = 0;
    for _ in 0..8 {
        let answered = post(&client, 400_000).await;
        if answered.status == 201 {
            taken += 1;
            client.send("POST", &format!("/v1/requests/{}/cancel", id(&answered)), "").await;
        } else {
            answered.refused(429, "quota_exceeded");
            assert_eq!(answered.header("retry-after"), "3600");
        }
    }
    assert_eq!(taken, 5);
    let [used, limit] = quota(&client, Quota::StoredBytes).await;
    assert_eq!(limit, 2 << 20);
    assert!(used.as_i64().is_some_and(|used| (2_000_000..=2 << 20).contains(&used)), "{used}");
    assert_eq!(post(&app.stranger(), 400_000).await.status, 201);
    // The operator raises the quota, which takes effect immediately.
    allow(&app, Quota::StoredBytes, Some(Quotas::UNLIMITED)).await;
    assert_eq!(post(&client, 400_000).await.status, 201);
    assert_eq!(quota(&client, Quota::StoredBytes).await[1], Value::Null);
    app.stop().await;
}

#[tokio::test]
async fn requests_a_second_are_bounded_beyond_a_burst() {
    let app = TestApp::start_with(&[("quotas.requests_per_second", "1")]).await;
    let client = app.client();
    for _ in 0..10 {
        assert_eq!(post(&client, 1).await.status, 201);
    }
    let refused = post(&client, 1).await;
    refused.refused(429, "quota_exceeded");
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(client.get("/v1/account").await.status, 200, "only creates count");
    assert_eq!(post(&app.stranger(), 1).await.status, 201);
    for waited_ms in [1_000, 2_000] {
        app.clock.set(START + waited_ms);
        assert_eq!(post(&client, 1).await.status, 201, "after the time that it was told");
        post(&client, 1).await.refused(429, "quota_exceeded");
    }
    allow(&app, Quota::RequestsPerSecond, Some(1_000)).await;
    assert_eq!(post(&client, 1).await.status, 201);
    app.stop().await;
}

#[tokio::test]
async fn a_text_with_more_lines_than_there_is_room_for_is_refused_before_anything_is_stored() {
    let app = TestApp::start_with(&[("quotas.live_requests", "3")]).await;
    let line = json!({"model": MODEL, "messages": [{"role": "user", "content": "a"}]}).to_string();
    let text = |lines: usize| vec![line.clone(); lines].join("\n").into();
    let refused = submissions::submit(&app.services, app.account, text(4), None, None, None).await;
    assert!(matches!(refused, Err(AppError::QuotaExceeded(_))), "{refused:?}");
    assert!(app.client().get("/v1/requests").await.lines().is_empty());
    submissions::submit(&app.services, app.account, text(3), None, None, None).await.expect("a batch");
    app.stop().await;
}

#[tokio::test]
async fn what_ended_long_enough_ago_is_gone_and_its_batch_keeps_its_counts() {
    let app = TestApp::start_with(&[("retention", "2d")]).await;
    let client = app.client();
    let (batch, ids) = app.create_batch(2).await;
    assert_eq!(client.cancel(&format!("/v1/batches/{batch}")).await.status, 200);
    let live = app.create("alive").await;
    for (now, status) in [(START + 2 * DAY_MS - 1, 200), (START + 2 * DAY_MS, 404)] {
        app.clock.set(now);
        workers::retention(&app.services, now).await.expect("a run");
        for path in [format!("/v1/requests/{}", ids[0]), format!("/v1/requests/{}/status", ids[1])] {
            assert_eq!(client.get(&path).await.status, status, "{path}");
        }
    }
    assert_eq!(client.get("/v1/requests").await.ids(), [live]);
    let kept = client.get(&format!("/v1/batches/{batch}")).await.json();
    assert_eq!(kept["requests_ids"].as_array().map(Vec::len), Some(2), "{kept}");
    assert_eq!(client.get(&format!("/v1/batches/{batch}/results")).await.body, b"");
    // Other tests of this process delete too.
    let shown = app.anonymous().get("/metrics").await;
    let count = shown.text().lines().find_map(|line| line.strip_prefix("overnight_requests_deleted_total "));
    assert!(count.is_some_and(|count| count.parse::<f64>().is_ok_and(|count| count >= 2.0)), "{count:?}");
    app.stop().await;
}
