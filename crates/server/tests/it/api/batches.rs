//! Batches: created, refused, followed, listed.

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::support::{Answered, Client, TestApp, check_json, keys};

const CREATED: &str = "id status requests_counts created_at";

fn counts(
    total: i64,
    completed: i64,
    failed: i64,
    in_progress: i64,
    registered: i64,
    cancelled: i64,
) -> Value {
    json!({"total": total, "completed": completed, "failed": failed, "in_progress": in_progress,
        "registered": registered, "cancelled": cancelled})
}

#[tokio::test]
async fn a_batch_follows_its_requests_from_registered_to_completed() {
    let app = TestApp::start().await;
    let ids = [app.create("one").await, app.create("two").await, app.create("three").await];
    let sent = [&ids[2], &ids[0], &ids[1]];
    let body = json!({"requests_ids": sent, "metadata": {"batch_name": "nightly"},
        "webhook": "https://example.com/hook"});
    let created = app.client().post("/v1/batches", &body).await;
    assert_eq!((created.status, keys(created.text())), (201, CREATED.to_owned()));
    assert_eq!(created.json()["status"], "registered");
    assert_eq!(created.json()["requests_counts"], counts(3, 0, 0, 0, 3, 0));
    let path = format!("/v1/batches/{}", created.id());
    let status = async || app.client().get(&format!("{path}/status")).await;
    assert_eq!(keys(status().await.text()), format!("{CREATED} cancelled_at"));

    let leases = app.lease_all().await;
    assert_eq!(status().await.json()["status"], "in progress");
    assert_eq!(status().await.json()["requests_counts"], counts(3, 0, 0, 3, 0, 0));
    assert_eq!(keys(status().await.text()), format!("{CREATED} in_progress_at cancelled_at"));
    app.complete(&leases[0]).await;
    app.fail(&leases[1]).await;
    assert_eq!(status().await.json()["requests_counts"], counts(3, 1, 1, 1, 0, 0));
    app.complete(&leases[2]).await;
    assert_eq!(status().await.json()["status"], "completed");
    assert_eq!(keys(status().await.text()), format!("{CREATED} in_progress_at completed_at cancelled_at"));

    let full = app.client().get(&path).await;
    let all = format!("{CREATED} in_progress_at completed_at cancelled_at requests_ids webhook metadata");
    assert_eq!(keys(full.text()), all);
    assert_eq!(full.json()["requests_ids"], json!(sent));
    assert_eq!(full.json()["metadata"], json!({"batch_name": "nightly"}));
    assert_eq!(full.json()["webhook"], "https://example.com/hook");
    assert_eq!(full.json()["cancelled_at"], Value::Null);
    app.stop().await;
}

#[tokio::test]
async fn the_lists_of_a_batch_run_in_order_of_arrival_and_hold_every_request() {
    let app = TestApp::start().await;
    let outside = app.create("in no batch").await;
    let ids = [app.create("one").await, app.create("two").await, app.create("three").await];
    let body = json!({"requests_ids": [&ids[2], &ids[1], &ids[0]]});
    let batch = app.client().post("/v1/batches", &body).await.json()["id"].clone();
    let path = format!("/v1/batches/{}", batch.as_str().expect("an id"));
    let leases = app.lease_all().await;
    let lease = leases.iter().find(|lease| lease.key.position.seq == 3).expect("the second's lease");
    app.complete(lease).await;

    let requests = app.client().get(&format!("{path}/requests")).await;
    assert_eq!(requests.ids(), ids);
    let first = requests.text().lines().next().expect("a line");
    assert_eq!(keys(first), "id status created_at expires_at in_progress_at");
    let results = app.client().get(&format!("{path}/results")).await;
    assert_eq!(results.ids(), ids);
    let has_result: Vec<bool> =
        results.lines().iter().map(|line| line.get("result_body").is_some()).collect();
    assert_eq!(has_result, [false, true, false]);
    assert!(results.lines().iter().all(|line| line["batch_id"] == batch));
    let alone = app.client().get(&format!("/v1/requests/{outside}")).await.json();
    assert_eq!(alone[0]["batch_id"], Value::Null);
    app.stop().await;
}

#[tokio::test]
async fn a_batch_of_ended_requests_says_registered_once_and_then_the_truth() {
    let app = TestApp::start().await;
    let ids = [app.create("one").await, app.create("two").await];
    app.complete_all().await;
    let created = app.client().post("/v1/batches", &json!({"requests_ids": ids})).await.json();
    assert_eq!(created["status"], "registered");
    let path = format!("/v1/batches/{}/status", created["id"].as_str().expect("an id"));
    let status = app.client().get(&path).await.json();
    check_json(&status, &json!({"status": "completed", "requests_counts": counts(2, 2, 0, 0, 0, 0)}));
    app.stop().await;
}

/// Sends Create Batch and checks its faults (index, id and code) and their number.
async fn check(app: &TestApp, body: &Value, expected: &[(&str, Option<&str>, &str)]) {
    let error = app.client().post("/v1/batches", body).await.refused(422, "invalid_input");
    let details = error["details"].as_array().expect("details");
    let found: Vec<_> = details
        .iter()
        .map(|detail| {
            let text = |key: &str| detail.get(key).and_then(Value::as_str);
            (text("param").unwrap_or(""), text("id"), text("code").unwrap_or(""))
        })
        .collect();
    assert_eq!(found, expected, "{body}");
    assert_eq!(error["details_total"], expected.len());
}

#[tokio::test]
async fn nothing_is_grouped_unless_everything_can_be() {
    let app = TestApp::start().await;
    let (_, taken) = app.create_batch(1).await;
    let free = app.create("free").await;
    let foreign = app.stranger().create("foreign").await;
    let unknown = "req_01jz8m3v6qf8jbk2w5n7y9t0xd";
    let sql = "'; DROP TABLE requests; --";
    let body = json!({"requests_ids": [free, taken[0], foreign, unknown, free, sql, "", taken[0], unknown]});
    check(
        &app,
        &body,
        &[
            ("requests_ids[1]", Some(&taken[0]), "in_another_batch"),
            ("requests_ids[2]", Some(&foreign), "unknown"),
            ("requests_ids[3]", Some(unknown), "unknown"),
            ("requests_ids[4]", Some(&free), "duplicate"),
            ("requests_ids[5]", Some(sql), "unknown"),
            ("requests_ids[6]", Some(""), "unknown"),
            ("requests_ids[7]", Some(&taken[0]), "duplicate"),
            ("requests_ids[8]", Some(unknown), "duplicate"),
        ],
    )
    .await;
    let record = app.client().get(&format!("/v1/requests/{free}")).await.json();
    assert_eq!(record[0]["batch_id"], Value::Null);
    assert_eq!(app.client().get("/v1/batches").await.lines().len(), 1);
    app.stop().await;
}

#[tokio::test]
async fn the_body_of_create_batch_is_held_to_its_rules() {
    let app = TestApp::start_with(&[("limits.batch_requests", "3")]).await;
    let id = app.create("one").await;
    let wrong = "wrong_type";
    for (body, param, code) in [
        (json!({}), "requests_ids", "missing"),
        (json!([]), "", wrong),
        (json!("x"), "", wrong),
        (json!({"requests_ids": null}), "requests_ids", wrong),
        (json!({"requests_ids": "req_1"}), "requests_ids", wrong),
        (json!({"requests_ids": {}}), "requests_ids", wrong),
        (json!({"requests_ids": []}), "requests_ids", "out_of_range"),
        (json!({"requests_ids": ["a", "b", "c", "d"]}), "requests_ids", "out_of_range"),
        (json!({"requests_ids": [id, 7]}), "requests_ids[1]", wrong),
        (json!({"requests_ids": [id], "metadata": []}), "metadata", wrong),
        (json!({"requests_ids": [id], "webhook": "ftp://example.com"}), "webhook", "unknown_value"),
        (json!({"requests_ids": [id], "web_hook": null}), "web_hook", "unknown_field"),
        (json!({"requests_ids": [id], "completion_window": "24h"}), "completion_window", "unknown_field"),
    ] {
        check(&app, &body, &[(param, None, code)]).await;
    }
    let text = app.client().send("POST", "/v1/batches", "{").await.refused(422, "invalid_input");
    assert_eq!((&text["details_total"], &text["details"][0]["code"]), (&json!(1), &json!("invalid_json")));
    app.stop().await;
}

#[tokio::test]
async fn the_first_thousand_faults_are_named_and_all_are_counted() {
    let app = TestApp::start().await;
    let ids: Vec<String> = (0..1_500).map(|place| format!("no such id {place}")).collect();
    let answered = app.client().post("/v1/batches", &json!({"requests_ids": ids})).await;
    let error = answered.refused(422, "invalid_input");
    assert_eq!(error["details"].as_array().map(Vec::len), Some(1_000));
    check_json(&error, &json!({"details.999.param": "requests_ids[999]", "details_total": 1_500}));
    app.stop().await;
}

#[tokio::test]
async fn a_request_belongs_to_one_batch_however_many_try() {
    let app = TestApp::start_timed().await;
    // The second batch is created in two writes.
    for size in [2, 1_100] {
        let body = json!({"requests_ids": ids(&app, size).await});
        let client = app.client();
        let mut statuses = Vec::new();
        for answer in at_once(&client, &body).await {
            statuses.push(answer.status);
        }
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 422, 422, 422, 422, 422, 422, 422]);
    }
    app.stop().await;
}

#[tokio::test]
async fn calls_with_one_key_make_one_large_batch() {
    let app = TestApp::start_timed().await;
    let body = json!({"requests_ids": ids(&app, 1_100).await});
    let client = app.client().with("idempotency-key", "once");
    let answers = at_once(&client, &body).await;
    let made: Vec<_> = answers.into_iter().map(|answer| answer.checked(201).id()).collect();
    assert!(made.iter().all(|batch| *batch == made[0]), "{made:?}");
    app.stop().await;
}

async fn ids(app: &TestApp, count: usize) -> Vec<String> {
    let creates = stream::iter(0..count).map(|_| app.create("one of many"));
    creates.buffered(32).collect().await
}

async fn at_once(client: &Client, body: &Value) -> Vec<Answered> {
    let tries = (0..8).map(|_| {
        let (client, body) = (client.clone(), body.clone());
        tokio::spawn(async move { client.post("/v1/batches", &body).await })
    });
    let tries = tries.collect::<Vec<_>>();
    join_all(tries).await.into_iter().map(|answer| answer.expect("an answer")).collect()
}

#[tokio::test]
async fn batches_are_listed_whole_and_oldest_first_to_their_owner() {
    let app = TestApp::start().await;
    assert_eq!(app.client().get("/v1/batches").await.ids(), Vec::<String>::new());
    let (first, requests) = app.create_batch(2).await;
    let (second, _) = app.create_batch(1).await;
    let listed = app.client().get("/v1/batches").await;
    assert_eq!(listed.ids(), [first.clone(), second]);
    let one = app.client().get(&format!("/v1/batches/{first}")).await;
    assert_eq!(listed.text().lines().next(), Some(one.text()));
    assert_eq!(listed.lines()[0]["requests_ids"], json!(requests));
    assert!(app.stranger().get("/v1/batches").await.lines().is_empty());
    app.stop().await;
}
