//! Files of batch lines and their batches under `/openai/v1`.

use overnight_app::file_batches::{FillPause, fill_account};
use overnight_runtime::workers;
use serde_json::{Value, json};

use crate::support::{Answered, Client, MODEL, START, TestApp, check_json};

const BOUNDARY: &str = "a-boundary";

fn line(custom_id: &str, content: &str) -> String {
    let body = json!({"model": MODEL, "messages": [{"role": "user", "content": content}]});
    json!({"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}).to_string()
}

pub(super) fn lines(count: usize) -> String {
    (0..count).map(|number| line(&format!("row-{number}"), &format!("prompt {number}")) + "\n").collect()
}

fn part(head: &str, content: &str) -> String {
    format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
}

async fn send_form(client: Client, parts: &[String]) -> Answered {
    let client = client.with("content-type", &format!("multipart/form-data; boundary={BOUNDARY}"));
    client.send("POST", "/openai/v1/files", format!("{}--{BOUNDARY}--\r\n", parts.concat())).await
}

async fn send_file(client: Client, content: &str) -> Answered {
    let file = part("name=\"file\"; filename=\"rows.jsonl\"", content);
    send_form(client, &[part("name=\"purpose\"", "batch"), file]).await
}

pub(super) async fn upload(app: &TestApp, content: &str) -> String {
    upload_as(&app.client(), content).await
}

pub(super) async fn upload_as(client: &Client, content: &str) -> String {
    send_file(client.clone(), content).await.checked(200).id()
}

fn create_body(file: &str) -> Value {
    json!({"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"})
}

pub(super) async fn create(app: &TestApp, file: &str) -> Value {
    create_as(&app.client(), file).await
}

pub(super) async fn create_as(client: &Client, file: &str) -> Value {
    client.call("/openai/v1/batches", &create_body(file), 200).await
}

pub(super) async fn batch(app: &TestApp, batch: &Value) -> Value {
    let id = batch["id"].as_str().expect("an id");
    app.client().get(&format!("/openai/v1/batches/{id}")).await.json()
}

pub(super) async fn content(app: &TestApp, file: &Value) -> String {
    let answered =
        app.client().get(&format!("/openai/v1/files/{}/content", file.as_str().expect("an id"))).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    answered.text().to_owned()
}

pub(super) async fn fill(app: &TestApp) -> FillPause {
    fill_account(&app.services, app.account).await.expect("a filling")
}

fn custom_ids(text: &str) -> Vec<String> {
    let id = |line: &str| {
        serde_json::from_str::<Value>(line).expect("JSON")["custom_id"].as_str().map(str::to_owned)
    };
    text.lines().map(|line| id(line).expect("a custom_id")).collect()
}

#[tokio::test]
async fn a_batch_of_a_file_is_seen_in_both_dialects_and_its_answers_are_read_while_it_runs() {
    let app = TestApp::start().await;
    let file = upload(&app, &lines(600)).await;
    let made = create(&app, &file).await;
    assert_eq!((&made["status"], &made["request_counts"]["total"]), (&json!("validating"), &json!(600)));
    let native = format!("/v1/batches/{}", made["id"].as_str().expect("an id"));
    assert_eq!(app.client().get(&native).await.json()["requests_counts"]["registered"], 600);
    assert_eq!(fill(&app).await, FillPause::Idle);
    assert_eq!(batch(&app, &made).await["status"], "in_progress");
    let ids = app.client().get(&native).await.json()["requests_ids"].as_array().map(Vec::len);
    assert_eq!((ids, app.client().get(&format!("{native}/requests")).await.lines().len()), (Some(600), 600));

    let leases = app.lease_all().await;
    for lease in &leases[..2] {
        app.complete(lease).await;
    }
    let running = batch(&app, &made).await;
    assert_eq!((&running["status"], &running["error_file_id"]), (&json!("in_progress"), &Value::Null));
    let output = content(&app, &running["output_file_id"]).await;
    let first: Value = serde_json::from_str(output.lines().next().expect("a line")).expect("JSON");
    assert_eq!((output.lines().count(), &first["response"]["status_code"]), (2, &json!(200)));
    assert_eq!(first["response"]["body"]["object"], "chat.completion");
    app.fail(&leases[2]).await;
    for lease in &leases[3..] {
        app.complete(lease).await;
    }
    let ended = batch(&app, &made).await;
    assert_eq!((&ended["status"], &ended["request_counts"]["failed"]), (&json!("completed"), &json!(1)));
    let errors = content(&app, &ended["error_file_id"]).await;
    assert_eq!(errors.lines().count(), 1);
    let mut all = [custom_ids(&content(&app, &ended["output_file_id"]).await), custom_ids(&errors)].concat();
    all.sort_unstable();
    let mut expected: Vec<String> = (0..600).map(|number| format!("row-{number}")).collect();
    expected.sort_unstable();
    assert_eq!(all, expected);
    let retrieved =
        app.client().get(&format!("/openai/v1/files/{}", ended["error_file_id"].as_str().unwrap())).await;
    assert_eq!(retrieved.json()["bytes"], errors.len());
    app.stop().await;
}

#[tokio::test]
async fn lines_may_ask_for_completions_and_embeddings_all_of_a_file_for_the_same() {
    let app = TestApp::start().await;
    for (url, body) in [
        ("/v1/completions", json!({"model": MODEL, "prompt": "once", "max_tokens": 5})),
        ("/v1/embeddings", json!({"model": MODEL, "input": ["once", "upon"], "encoding_format": "base64"})),
    ] {
        let line = |url: &str, id: &str, body: &Value| {
            json!({"custom_id": id, "method": "POST", "url": url, "body": body}).to_string() + "\n"
        };
        let file = upload(&app, &(line(url, "a", &body) + &line(url, "b", &body))).await;
        let mut create = create_body(&file);
        let answered = app.client().post("/openai/v1/batches", &create).await;
        assert_ne!(answered.json()["status"], "validating", "it is a file of other lines");
        create["endpoint"] = json!(url);
        let made = app.client().post("/openai/v1/batches", &create).await.json();
        assert_eq!((&made["endpoint"], &made["status"]), (&json!(url), &json!("validating")), "{made}");
        fill(&app).await;
        app.complete_all().await;
        let ended = batch(&app, &made).await;
        check_json(&ended, &json!({"status": "completed", "request_counts.completed": 2}));
        let output = content(&app, &ended["output_file_id"]).await;
        let output: Value = serde_json::from_str(output.lines().next().expect("a line")).expect("JSON");
        let native = format!("/v1/batches/{}", made["id"].as_str().expect("an id"));
        let results = app.client().get(&format!("{native}/results")).await.lines();
        check_json(&results[0], &json!({"request_body": body, "metadata": {"custom_id": "a"}}));
        assert_eq!(output["response"]["body"], results[0]["result_body"]);

        let mixed = line(url, "a", &body) + &line("/v1/chat/completions", "b", &json!({"model": MODEL}));
        assert_eq!(send_file(app.client(), &mixed).await.json()["status"], "error");
        let faulty = send_file(app.client(), &line(url, "a", &json!({"model": MODEL}))).await.json();
        assert_eq!(faulty["status"], "error");
    }
    app.stop().await;
}

#[tokio::test]
async fn the_scheduler_is_told_of_every_piece_of_a_batch_its_last_too() {
    let app = TestApp::start().await;
    for count in [1, 600] {
        let file = upload(&app, &lines(count)).await;
        create(&app, &file).await;
        app.services.signals.take();
        assert_eq!(fill(&app).await, FillPause::Idle);
        assert!(app.services.signals.take().gathering_until.is_some(), "{count}");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_file_with_bad_lines_fails_its_batch_which_names_each_of_them_and_runs_nothing() {
    let app = TestApp::start().await;
    let of = |url: &str, method: &str, model: &str| {
        let body = json!({"model": model, "messages": [{"role": "user", "content": "x"}]});
        json!({"custom_id": "b", "method": method, "url": url, "body": body}).to_string()
    };
    let chat = "/v1/chat/completions";
    let text = [
        line("a", "good"),
        "no JSON".to_owned(),
        String::new(),
        "[]".to_owned(),
        of(chat, "GET", MODEL),
        of("/v1/images", "POST", MODEL),
        of(chat, "POST", "unknown"),
        line("a", "the same custom_id"),
        json!({"method": "POST", "url": chat, "body": {}}).to_string(),
        json!({"custom_id": "c", "method": "POST", "url": chat}).to_string(),
        json!({"custom_id": "d", "method": "POST", "url": chat, "body": {"model": MODEL, "messages": []}})
            .to_string(),
    ]
    .join("\n");
    let file = send_file(app.client(), &text).await.json();
    assert_eq!(file["status"], "error");
    let failed = create(&app, file["id"].as_str().expect("an id")).await;
    assert_eq!((&failed["status"], &failed["request_counts"]["total"]), (&json!("failed"), &json!(0)));
    let found: Vec<_> = failed["errors"]["data"].as_array().expect("errors").iter().collect();
    let named: Vec<_> = found
        .iter()
        .map(|error| (error["line"].as_i64().unwrap(), error["code"].as_str().unwrap()))
        .collect();
    assert_eq!(
        named,
        [
            (2, "invalid_json_line"),
            (4, "invalid_json_line"),
            (5, "invalid_method"),
            (6, "invalid_url"),
            (7, "model_not_found"),
            (8, "duplicate_custom_id"),
            (9, "missing_required_parameter"),
            (10, "missing_required_parameter"),
            (11, "invalid_request"),
        ]
    );
    assert_eq!((&found[8]["param"], &found[4]["param"]), (&json!("body.messages"), &json!("body.model")));
    assert_eq!(fill(&app).await, FillPause::Idle);
    assert!(app.client().get("/v1/requests").await.lines().is_empty());
    let native = app.client().get("/v1/batches").await.lines();
    assert_eq!((native.len(), &native[0]["status"]), (1, &json!("cancelled")));
    app.stop().await;
}

#[tokio::test]
async fn a_file_that_is_deleted_while_its_batch_is_filled_harms_it_not_and_then_goes() {
    let app = TestApp::start_with(&[("quotas.live_requests", "300")]).await;
    let text = lines(700);
    let file = upload(&app, &text).await;
    let path = format!("/openai/v1/files/{file}");
    assert_eq!(content(&app, &json!(file)).await, text);
    let made = create(&app, &file).await;
    let mut done = 0;
    assert!(matches!(fill(&app).await, FillPause::Waits(_)), "300 of 700 lines");
    let deleted = app.client().delete(&path).await;
    assert_eq!(deleted.json(), json!({"id": file, "object": "file", "deleted": true}));
    let gone = app.client().get(&format!("{path}/content")).await;
    assert_eq!((gone.status, &gone.json()["error"]["code"]), (404, &json!("not_found")));
    let again = app.client().post("/openai/v1/batches", &create_body(&file)).await;
    assert!((400..500).contains(&again.status), "{again:?}");
    workers::files(&app.services, START).await.expect("a purge");
    while done < 700 {
        let leases = app.lease_all().await;
        assert!(!leases.is_empty() && leases.len() <= 300);
        for lease in &leases {
            app.complete(lease).await;
        }
        done += leases.len();
        fill(&app).await;
    }
    let ended = batch(&app, &made).await;
    assert_eq!((&ended["status"], &ended["request_counts"]["completed"]), (&json!("completed"), &json!(700)));
    let expected: Vec<String> = (0..700).map(|number| format!("row-{number}")).collect();
    assert_eq!(custom_ids(&content(&app, &ended["output_file_id"]).await), expected);
    workers::files(&app.services, START).await.expect("a purge");
    app.stop().await;
}

#[tokio::test]
async fn a_repeated_upload_or_create_is_done_once_whatever_its_boundary_and_the_order_of_its_parts() {
    let app = TestApp::start().await;
    let keyed = || app.client().with("idempotency-key", "retry-1");
    let first = send_file(keyed(), &lines(3)).await;
    let file = part("name=\"file\"; filename=\"rows.jsonl\"", &lines(3));
    let second = send_form(keyed(), &[file, part("name=\"purpose\"", "batch")]).await;
    assert_eq!((second.status, &second.body), (200, &first.body));
    assert_eq!(second.header("idempotent-replayed"), "true");
    assert_eq!(send_file(keyed(), &lines(4)).await.status, 422, "another file under the same key");
    let id = first.id();
    let made = keyed().post("/openai/v1/batches", &create_body(&id)).await;
    assert_eq!(keyed().post("/openai/v1/batches", &create_body(&id)).await.body, made.body);
    assert_eq!(app.client().get("/openai/v1/files").await.json()["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(app.client().get("/openai/v1/batches").await.json()["data"].as_array().map(Vec::len), Some(1));
    fill(&app).await;
    assert_eq!(app.client().get("/v1/requests").await.lines().len(), 3);
    app.stop().await;
}

#[tokio::test]
async fn files_are_listed_by_cursor_and_go_when_they_expire() {
    let app = TestApp::start().await;
    let mut ids = Vec::new();
    for count in 1..=3 {
        ids.push(upload(&app, &lines(count)).await);
    }
    let page = app.client().get("/openai/v1/files?limit=2&purpose=batch&unknown=1").await.json();
    assert_eq!((&page["data"][0]["id"], &page["has_more"]), (&json!(ids[2]), &json!(true)));
    let rest = app.client().get(&format!("/openai/v1/files?after={}", ids[1])).await.json();
    assert_eq!((&rest["data"][0]["id"], &rest["has_more"]), (&json!(ids[0]), &json!(false)));
    assert_eq!(app.stranger().get("/openai/v1/files").await.json()["data"], json!([]));
    assert_eq!(app.stranger().get(&format!("/openai/v1/files/{}", ids[0])).await.status, 404);
    let file = part("name=\"file\"; filename=\"rows.jsonl\"", &lines(1));
    let parts = [file, part("name=\"purpose\"", "batch"), part("name=\"expires_after[seconds]\"", "3600")];
    let lasting = send_form(app.client(), &parts).await.json();
    assert_eq!(lasting["expires_at"], START / 1_000 + 3_600);
    workers::files(&app.services, START + 3_600_000).await.expect("an expiry");
    let left = app.client().get("/openai/v1/files").await.json();
    assert_eq!(left["data"].as_array().map(Vec::len), Some(3));
    app.stop().await;
}

#[tokio::test]
async fn an_upload_that_is_no_file_of_batch_lines_is_refused_and_leaves_nothing() {
    let app = TestApp::start_with(&[
        ("limits.batch_requests", "5"),
        ("limits.request_body", "16 KiB"),
        ("limits.metadata", "1 KiB"),
        ("limits.file", "512 KiB"),
    ])
    .await;
    let file = |content: &str| part("name=\"file\"; filename=\"rows.jsonl\"", content);
    let purpose = part("name=\"purpose\"", "batch");
    let long = line("a", &"x".repeat(300 << 10));
    let endless = "x".repeat(600 << 10);
    let refused = [
        vec![file(&lines(1))],
        vec![file(&lines(1)), part("name=\"purpose\"", "fine-tune")],
        vec![purpose.clone()],
        vec![file(""), purpose.clone()],
        vec![file(&lines(6)), purpose.clone()],
        vec![file(&long), purpose.clone()],
        vec![file(&endless), purpose.clone()],
        vec![file(&"a\n".repeat(6)), purpose.clone()],
        vec![file(&("\n".repeat(6) + &lines(1))), purpose.clone()],
        vec![part(&format!("name=\"file\"; filename=\"{}\"", "x".repeat(256)), &lines(1)), purpose.clone()],
        vec![part("name=\"file\"; filename=\"a\tb\"", &lines(1)), purpose.clone()],
        vec![file(&lines(1)), purpose.clone(), part("name=\"expires_after[seconds]\"", "1")],
    ];
    for parts in refused {
        let answered = send_form(app.client(), &parts).await;
        assert!((400..500).contains(&answered.status), "{answered:?}");
    }
    let endless = part(&format!("name=\"{}\"", "x".repeat(8 << 20)), "");
    let answered = send_form(app.client(), &[endless, purpose]).await.json();
    let message = answered["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("a part whose head is longer"), "{answered}");
    app.client().post("/openai/v1/files", &json!({})).await.checked(415);
    assert_eq!(app.client().get("/openai/v1/files").await.json()["data"], json!([]));
    app.stop().await;
}

#[tokio::test]
async fn a_batch_that_cannot_be_paid_or_has_another_endpoint_is_refused_or_fails() {
    let app = TestApp::start().await;
    let file = upload(&app, &lines(2)).await;
    for (key, value) in [
        ("input_file_id", json!("file_00000000000000000000000000")),
        ("endpoint", json!("/v1/images")),
        ("completion_window", json!("1h")),
        ("metadata", json!({"a": 1})),
        ("webhook", json!("ftp://example.com")),
    ] {
        let mut body = create_body(&file);
        body[key] = value;
        let answered = app.client().post("/openai/v1/batches", &body).await;
        assert!((400..500).contains(&answered.status), "{answered:?}");
    }
    assert!(app.client().get("/v1/batches").await.lines().is_empty());
    let poor = app.newcomer("poor").await.1;
    let dear = send_file(poor.clone(), &lines(2)).await.json();
    let dear = create_body(dear["id"].as_str().expect("an id"));
    poor.post("/openai/v1/batches", &dear).await.shows("credits");
    assert!(poor.get("/v1/batches").await.lines().is_empty());
    app.stop().await;
}
