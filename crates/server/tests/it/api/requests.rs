//! Requests from their creation to their result.

use overnight_domain::requests::RequestStatus;
use overnight_wire::native::requests::CREATE_MEMBERS;
use serde_json::{Value, json};

use crate::support::{MODEL, TestApp, check_json, keys};

const CREATED: &str = "id status created_at expires_at";
const FULL: &str = "id status created_at expires_at in_progress_at ended_at batch_id metadata request_body \
                    completion_window webhook result_body";

#[tokio::test]
async fn a_request_is_created_read_and_completed() {
    let app = TestApp::start().await;
    let created = app.client().post("/v1/requests", &TestApp::quick_start("hello")).await.checked(201);
    assert_eq!(keys(created.text()), CREATED);
    let created = created.json()[0].clone();
    assert_eq!(created["status"], "registered");
    assert_eq!(created["expires_at"], json!(created["created_at"].as_i64().expect("a time") + 86_400));

    let path = format!("/v1/requests/{}", created["id"].as_str().expect("an id"));
    let status = app.client().get(&format!("{path}/status")).await;
    assert_eq!(keys(status.text()), format!("{CREATED} waiting_for"));
    let mut told = status.json();
    told.as_object_mut().expect("an object").remove("waiting_for");
    assert_eq!(told, created);

    let leases = app.lease_all().await;
    let status = app.client().get(&format!("{path}/status")).await;
    assert_eq!(status.json()["status"], "in progress");
    assert_eq!(keys(status.text()), format!("{CREATED} in_progress_at"));

    app.complete(&leases[0]).await;
    let status = app.client().get(&format!("{path}/status")).await;
    assert_eq!(keys(status.text()), format!("{CREATED} in_progress_at ended_at"));
    let result = app.client().get(&path).await;
    assert_eq!((result.status, keys(result.text())), (200, FULL.to_owned()));
    let record = result.json()[0].clone();
    assert_eq!(record["request_body"], TestApp::quick_start("hello")["request_body"]);
    assert_eq!(record["result_body"]["object"], "chat.completion");
    assert_eq!(record["result_body"]["model"], MODEL);
    assert_eq!(record["completion_window"], "24h");
    app.stop().await;
}

#[tokio::test]
async fn a_failed_request_shows_its_error_and_a_fresh_one_no_result() {
    let app = TestApp::start().await;
    let failed = app.create("fails").await;
    app.fail_all().await;
    let fresh = app.create("waits").await;
    let failed = app.client().get(&format!("/v1/requests/{failed}")).await.json();
    check_json(&failed, &json!({"0.status": "failed", "0.result_body.error.code": "engine_rejected"}));
    let fresh = app.client().get(&format!("/v1/requests/{fresh}")).await;
    let absent = FULL.replace(" in_progress_at ended_at", "").replace(" result_body", "");
    assert_eq!(keys(fresh.text()), format!("{absent} waiting_for"));
    app.stop().await;
}

#[tokio::test]
async fn every_record_of_a_request_has_the_warnings_of_its_completion() {
    let app = TestApp::start().await;
    let (batch, ids) = app.create_batch(2).await;
    let told = r#"[{"param":"request_body.n","message":"The engine did not honour `n`: the answer has 1 of 2 choices."}]"#;
    let leases = app.lease_all().await;
    assert!(app.settle_with_warnings(&leases[0], RequestStatus::Completed, Some(told.into())).await);
    app.complete(&leases[1]).await;
    let warned_seq = leases[0].key.position.seq;
    let warned = usize::from(warned_seq > leases[1].key.position.seq);
    let with = |place: usize| if place == warned { format!("{FULL} warnings") } else { FULL.to_owned() };
    for (place, id) in ids.iter().enumerate() {
        let record = app.client().get(&format!("/v1/requests/{id}")).await;
        assert_eq!(keys(record.text()), with(place));
        assert_eq!(record.text().contains(told), place == warned);
    }
    for path in ["/v1/requests?full=true".to_owned(), format!("/v1/batches/{batch}/results")] {
        let list = app.client().get(&path).await;
        let found: Vec<String> = list.text().lines().map(keys).collect();
        assert_eq!(found, [with(0), with(1)], "{path}");
    }
    app.stop().await;
}

/// Sends `body` and checks a field of the full record.
async fn check(app: &TestApp, body: &Value, field: &str, expected: &Value) {
    let created = app.client().post("/v1/requests", body).await;
    assert_eq!(created.status, 201, "{body}: {}", created.text());
    let path = format!("/v1/requests/{}", created.id());
    let record = app.client().get(&path).await.json()[0].clone();
    assert_eq!(record.get(field), Some(expected), "{body}");
}

#[tokio::test]
async fn what_a_client_sends_is_kept_and_what_it_leaves_out_has_its_default() {
    let app = TestApp::start().await;
    let with = |field: &str, value: Value| {
        let mut body = TestApp::quick_start("hello");
        body[field] = value;
        body
    };
    let plain = TestApp::quick_start("hello");
    for (member, default) in CREATE_MEMBERS {
        let Some(default) = default else { continue };
        check(&app, &plain, member, &serde_json::from_str(default).expect("JSON")).await;
    }
    check(&app, &plain, "batch_id", &Value::Null).await;
    check(&app, &with("metadata", Value::Null), "metadata", &Value::Null).await;
    let metadata = json!({"batch_name": "nightly", "n": [1, {"deep": null}]});
    check(&app, &with("metadata", metadata.clone()), "metadata", &metadata).await;
    let webhook = json!("https://example.com/hook?x=1#y");
    check(&app, &with("webhook", webhook.clone()), "webhook", &webhook).await;
    check(&app, &with("webhook", Value::Null), "webhook", &Value::Null).await;
    check(&app, &with("completion_window", json!("24h")), "completion_window", &json!("24h")).await;
    app.stop().await;
}

#[tokio::test]
async fn every_documented_field_of_the_body_is_taken_and_kept() {
    let app = TestApp::start().await;
    let body = json!({
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "You are helpful."},
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Hi"},
            {"role": "user", "content": "Capital of France?"}
        ],
        "frequency_penalty": 0, "presence_penalty": -0.5, "logprobs": false, "max_tokens": 1000, "n": 1,
        "response_format": {"type": "text"}, "stream": true, "temperature": 0.7, "top_p": 1,
        "seed": 18446744073709551615u64, "stop": ["\n"], "tools": []
    });
    check(&app, &json!({"request_body": body}), "request_body", &body).await;
    app.stop().await;
}

#[tokio::test]
async fn the_text_of_a_body_is_kept_but_for_white_space() {
    let app = TestApp::start().await;
    let text = format!(
        "{{ \"request_body\" :\n{{\"seed\": 1.50e1, \"model\":\t\"{MODEL}\", \"messages\": [ {{\"content\":\"a \\n \\u00e9\
         \\u0000\", \"role\":\"user\"}} ]}} }}\r\n"
    );
    let created = app.client().send("POST", "/v1/requests", text).await.checked(201);
    let path = format!("/v1/requests/{}", created.id());
    let record = app.client().get(&path).await;
    let kept = format!(
        "\"request_body\":{{\"seed\":1.50e1,\"model\":\"{MODEL}\",\"messages\":[{{\"content\":\"a \\n \\u00e9\\u0000\",\
         \"role\":\"user\"}}]}}"
    );
    record.shows(&kept);
    app.stop().await;
}

#[tokio::test]
async fn many_clients_at_once_are_each_answered_once() {
    let app = TestApp::start().await;
    let client = app.client();
    let creates = (0..200).map(|place| {
        let client = client.clone();
        tokio::spawn(async move { client.create(&format!("{place}")).await })
    });
    let mut ids = Vec::new();
    for create in creates.collect::<Vec<_>>() {
        ids.push(create.await.expect("a create"));
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 200);
    let mut listed = app.client().get("/v1/requests").await.ids();
    listed.sort_unstable();
    assert_eq!(listed, ids);
    app.stop().await;
}
