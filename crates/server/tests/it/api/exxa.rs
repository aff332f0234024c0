//! The dialect under `/exxa/v1` over a real socket.

use serde_json::{Value, json};

use crate::support::{MODEL, TestApp, check_json, keys};

const CREATED: &str = "id status created_at expires_at";
const FULL: &str = "id status created_at expires_at in_progress_at ended_at batch_id metadata request_body \
                    completion_window webhook result_body error";
const LINES: &str = "text/plain; charset=utf-8";

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[tokio::test]
async fn a_request_is_created_as_its_clients_send_it_and_read_as_a_bare_object() {
    let app = TestApp::start().await;
    let content =
        json!([{"type": "text", "content": "hello"}, {"type": "image", "url": "data:image/png;base64,AA=="}]);
    let body = json!({"request_body": {"model": MODEL, "messages": [{"role": "user", "content": content}],
        "response_schema": "{\"type\": \"object\"}"}, "metadata": null});
    let created = app.client().post("/exxa/v1/requests/", &body).await;
    assert_eq!((created.status, keys(created.text())), (201, CREATED.to_owned()));
    let id = created.id();
    let native = app.client().get(&format!("/v1/requests/{id}")).await.json();
    let stored = &native[0]["request_body"];
    assert_eq!(stored["messages"][0]["content"][0], json!({"type": "text", "text": "hello"}));
    assert_eq!(stored["response_format"]["json_schema"]["schema"], json!({"type": "object"}));

    let leases = app.lease_all().await;
    let path = format!("/exxa/v1/requests/{id}");
    assert_eq!(app.client().get(&format!("{path}/status")).await.json()["status"], "in_progress");
    app.complete(&leases[0]).await;
    let result = app.client().get(&path).await;
    assert_eq!((result.status, keys(result.text())), (200, FULL.to_owned()));
    let result = result.json();
    check_json(&result, &json!({"metadata": {}, "error": null, "result_body.object": "chat.completion"}));
    app.stop().await;
}

#[tokio::test]
async fn what_this_dialect_alone_reads_is_refused_where_it_is_wrong() {
    let app = TestApp::start().await;
    let messages = json!([{"role": "user", "content": "hello"}]);
    let body = json!({"request_body": {"model": MODEL, "messages": messages, "response_schema": "{"}});
    let refused = app.client().post("/exxa/v1/requests", &body).await;
    assert_eq!(
        (refused.status, refused.json()["error"]["param"].clone()),
        (422, json!("request_body.response_schema"))
    );
    assert_eq!(app.anonymous().post("/exxa/v1/requests", &body).await.status, 401);
    assert_eq!(app.client().get("/exxa/v1/nothing").await.status, 404);
    assert_eq!(app.client().get("/exxa/v1/requests?status=in%20progress").await.status, 422);
    assert_eq!(app.client().get("/exxa/v1/models").await.json(), app.client().get("/v1/models").await.json());
    app.stop().await;
}

#[tokio::test]
async fn every_line_of_a_batch_can_be_read_whatever_became_of_it() {
    let app = TestApp::start().await;
    let ids = [app.create("a").await, app.create("b").await, app.create("c").await, app.create("d").await];
    let created = app.client().post("/exxa/v1/batches", &json!({"requests_ids": ids})).await;
    let expected = (201, "id status requests_counts created_at".to_owned());
    assert_eq!((created.status, keys(created.text())), expected);
    let path = format!("/exxa/v1/batches/{}", created.id());
    app.client().post(&format!("/exxa/v1/requests/{}/cancel", ids[3]), &json!({})).await.checked(200);
    let leases = app.lease_all().await;
    app.complete(&leases[0]).await;
    app.fail(&leases[1]).await;

    assert_eq!(app.client().get(&path).await.json()["status"], "in_progress");
    assert_eq!(app.client().get(&format!("{path}/status")).await.json()["status"], "in_progress");
    let results = app.client().get(&format!("{path}/results")).await;
    assert_eq!(results.header("content-type"), LINES);
    let results = lines(results.text());
    assert_eq!(results.len(), 4);
    for line in &results {
        let is_so = line["result_body"]["choices"].is_array() && line["result_body"]["usage"].is_object();
        assert!(is_so, "{line}");
        assert!(line["error"].is_null() || line["error"].is_string(), "{line}");
        assert!(line["metadata"].is_object(), "{line}");
    }
    let errors: Vec<&Value> = results.iter().map(|line| &line["error"]).collect();
    assert_eq!(errors.iter().filter(|error| error.is_string()).count(), 2);
    assert!(errors.contains(&&json!("cancelled")));

    let states = lines(app.client().get(&format!("{path}/requests")).await.text());
    assert_eq!(states.iter().filter(|line| line["status"] == "in_progress").count(), 1);
    let listed = app.client().get("/exxa/v1/requests?status=in_progress&full=true").await;
    assert_eq!((listed.header("content-type"), lines(listed.text()).len()), (LINES, 1));
    let batches = app.client().get("/exxa/v1/batches").await;
    assert_eq!((batches.header("content-type"), lines(batches.text()).len()), (LINES, 1));

    let cancelled = app.client().post(&format!("{path}/cancel"), &json!({})).await.json();
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(lines(app.client().get("/v1/batches").await.text())[0]["status"], "cancelled");
    app.stop().await;
}
