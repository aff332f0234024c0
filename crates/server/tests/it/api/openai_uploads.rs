//! Uploads in parts under `/openai/v1`.

use overnight_app::file_batches::fill_account;
use overnight_runtime::workers;
use serde_json::{Value, json};

use crate::support::{Answered, Client, MODEL, START, TestApp, pause};

const BOUNDARY: &str = "a-boundary";
const HOUR_MS: i64 = 3_600_000;
const ABSENT: &str = "part_01jz8m3v6qf8jbk2w5n7y9t0xd";

fn lines(count: usize) -> String {
    let line = |number: usize| {
        let body = json!({"model": MODEL, "messages": [{"role": "user", "content": format!("é {number}")}]});
        let line = json!({"custom_id": format!("row-{number}"), "method": "POST", "url": "/v1/chat/completions", "body": body});
        line.to_string() + "\n"
    };
    (0..count).map(line).collect()
}

fn create_body(bytes: usize) -> Value {
    json!({"bytes": bytes, "filename": "rows.jsonl", "mime_type": "application/jsonl", "purpose": "batch"})
}

async fn begin(client: &Client, bytes: usize) -> String {
    client.post("/openai/v1/uploads", &create_body(bytes)).await.checked(200).id()
}

/// Sends a part in the form of the published clients.
async fn send(client: Client, upload: &str, content: &[u8]) -> Answered {
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"data\"; filename=\"upload\"\r\nContent-Type: application/octet-stream\r\n\r\n"
    );
    let body = [head.as_bytes(), content, format!("\r\n--{BOUNDARY}--\r\n").as_bytes()].concat();
    let client = client.with("content-type", &format!("multipart/form-data; boundary={BOUNDARY}"));
    client.send("POST", &format!("/openai/v1/uploads/{upload}/parts"), body).await
}

async fn part(app: &TestApp, upload: &str, content: &[u8]) -> String {
    let part = send(app.client(), upload, content).await.checked(200).json();
    assert_eq!((&part["object"], &part["upload_id"]), (&json!("upload.part"), &json!(upload)));
    part["id"].as_str().expect("an id").to_owned()
}

async fn complete(client: &Client, upload: &str, body: &Value) -> Answered {
    client.post(&format!("/openai/v1/uploads/{upload}/complete"), body).await
}

async fn cancel(client: &Client, upload: &str) -> Answered {
    client.cancel(&format!("/openai/v1/uploads/{upload}")).await
}

/// Checks the status of a refusal, and that its message has `words`.
fn assert_refused(answered: &Answered, status: u16, words: &str) {
    let error = answered.json()["error"].clone();
    let message = error["message"].as_str().unwrap_or_default();
    assert!(answered.status == status && message.contains(words), "{words}: {answered:?}");
    assert!(error["type"].is_string() && error.get("code").is_some(), "{error}");
}

async fn stored_bytes(app: &TestApp) -> i64 {
    let account = app.client().get("/v1/account").await.json();
    account["quotas"]["stored_bytes"]["used"].as_i64().expect("a number")
}

/// Waits until the space of cancelled uploads is free, which happens in the background.
async fn assert_stored(app: &TestApp, bytes: i64) {
    for _ in 0..10_000 {
        if stored_bytes(app).await == bytes {
            return;
        }
        pause().await;
    }
    panic!("{} bytes are stored, not {bytes}", stored_bytes(app).await);
}

#[tokio::test]
async fn parts_in_any_order_become_a_file_whose_lines_straddle_their_borders() {
    let app = TestApp::start().await;
    let text = lines(500);
    let upload = begin(&app.client(), text.len()).await;
    // One boundary is within a line, the other within a character.
    let first = text.find("row-100").expect("a line");
    let second = text.rfind('é').expect("a character") + 1;
    let bytes = text.as_bytes();
    let (last, middle, head) = tokio::join!(
        part(&app, &upload, &bytes[second..]),
        part(&app, &upload, &bytes[first..second]),
        part(&app, &upload, &bytes[..first]),
    );
    let unused = part(&app, &upload, b"sent twice").await;
    assert_eq!(app.client().get("/openai/v1/files").await.json()["data"], json!([]), "parts are no files");
    let as_file = unused.replace("part_", "file_");
    assert_eq!(app.client().get(&format!("/openai/v1/files/{as_file}/content")).await.status, 404);

    let completed = complete(&app.client(), &upload, &json!({"part_ids": [head, middle, last]})).await;
    assert_eq!(completed.status, 200, "{completed:?}");
    let completed = completed.json();
    let file = &completed["file"];
    assert_eq!((&completed["status"], &completed["object"]), (&json!("completed"), &json!("upload")));
    assert_eq!((&file["status"], &file["filename"]), (&json!("processed"), &json!("rows.jsonl")));
    assert_eq!((&file["bytes"], &completed["bytes"]), (&json!(text.len()), &json!(text.len())));
    let id = file["id"].as_str().expect("an id");
    let content = app.client().get(&format!("/openai/v1/files/{id}/content")).await;
    assert_eq!(content.text(), text);
    assert_stored(&app, text.len() as i64 + 2 * 512).await;

    let create = json!({"input_file_id": id, "endpoint": "/v1/chat/completions", "completion_window": "24h"});
    let made = app.client().post("/openai/v1/batches", &create).await.json();
    fill_account(&app.services, app.account).await.expect("a filling");
    app.complete_all().await;
    let path = format!("/openai/v1/batches/{}", made["id"].as_str().expect("an id"));
    assert_eq!(app.client().get(&path).await.json()["request_counts"]["completed"], 500);
    workers::files(&app.services, START).await.expect("a purge");
    app.stop().await;
}

#[tokio::test]
async fn an_upload_says_what_it_is_and_its_file_lasts_as_long_as_was_asked() {
    let app = TestApp::start().await;
    let text = lines(1);
    let mut body = create_body(text.len());
    body["expires_after"] = json!({"anchor": "created_at", "seconds": 7_200});
    let begun = app.client().post("/openai/v1/uploads", &body).await.json();
    let id = begun["id"].as_str().expect("an id");
    let second = START / 1_000;
    assert_eq!(
        begun,
        json!({"id": id, "object": "upload", "bytes": text.len(), "created_at": second, "expires_at": second + 3_600,
            "filename": "rows.jsonl", "purpose": "batch", "status": "pending", "file": null})
    );
    assert!(id.starts_with("upload_"), "{id}");
    let part = part(&app, id, text.as_bytes()).await;
    let completed = complete(&app.client(), id, &json!({"part_ids": [part], "md5": null})).await.json();
    assert_eq!(completed["file"]["expires_at"], second + 7_200);
    app.stop().await;
}

#[tokio::test]
async fn a_completion_that_is_refused_leaves_the_upload_as_it_was() {
    let app = TestApp::start().await;
    let text = lines(4);
    let (head, tail) = text.as_bytes().split_at(150);
    let upload = begin(&app.client(), text.len()).await;
    let (head, tail) = (part(&app, &upload, head).await, part(&app, &upload, tail).await);
    let other = begin(&app.client(), 10).await;
    let foreign = part(&app, &other, b"0123456789").await;
    for (body, words) in [
        (json!({}), "part_ids is required"),
        (json!({"part_ids": "x"}), "part_ids is required"),
        (json!({"part_ids": []}), "1 to 1024"),
        (json!({"part_ids": [head, ABSENT]}), "part_ids[1] must be a part of this upload"),
        (json!({"part_ids": [5, tail]}), "part_ids[0]"),
        (json!({"part_ids": [head, tail, foreign]}), "part_ids[2]"),
        (json!({"part_ids": [head, tail, head]}), "part_ids[2]"),
        (json!({"part_ids": [head]}), "the length of the upload"),
        (json!({"part_ids": [head, tail], "md5": "x"}), "md5 must be"),
        (json!({"part_ids": [head, tail], "md5": "00112233445566778899aabbccddeeff"}), "md5 is not that"),
        (json!({"part_ids": vec![ABSENT; 1_025]}), "1 to 1024"),
        (json!([]), "must be a JSON object"),
    ] {
        assert_refused(&complete(&app.client(), &upload, &body).await, 400, words);
    }
    assert_stored(&app, text.len() as i64 + 10 + 5 * 512).await;
    let completed = complete(&app.client(), &upload, &json!({"part_ids": [head, tail]})).await;
    assert_eq!((completed.status, &completed.json()["file"]["status"]), (200, &json!("processed")));
    app.stop().await;
}

#[tokio::test]
async fn the_md5_of_the_parts_in_their_order_is_compared() {
    let app = TestApp::start().await;
    let upload = begin(&app.client(), 6).await;
    let (first, second) = (part(&app, &upload, b"foo").await, part(&app, &upload, b"bar").await);
    // The MD5 of "foobar".
    let md5 = "3858F62230ac3c915f300c664312c63f";
    let wrong = complete(&app.client(), &upload, &json!({"part_ids": [second, first], "md5": md5})).await;
    assert_refused(&wrong, 400, "md5");
    let right = complete(&app.client(), &upload, &json!({"part_ids": [first, second], "md5": md5})).await;
    assert_eq!((right.status, &right.json()["file"]["status"]), (200, &json!("error")), "foobar is no line");
    app.stop().await;
}

#[tokio::test]
async fn a_completion_is_repeated_safely_and_another_one_conflicts() {
    let app = TestApp::start().await;
    let text = lines(2);
    let upload = begin(&app.client(), text.len()).await;
    let part_id = part(&app, &upload, text.as_bytes()).await;
    let body = json!({"part_ids": [part_id]});
    let client = app.client();
    let (first, second) = tokio::join!(complete(&client, &upload, &body), complete(&client, &upload, &body));
    assert_eq!((first.status, &first.body), (200, &second.body), "{second:?}");
    let third = complete(&client, &upload, &body).await;
    assert_eq!(third.body, first.body);
    assert_eq!(client.get("/openai/v1/files").await.json()["data"].as_array().map(Vec::len), Some(1));
    let other = json!({"part_ids": [part_id, ABSENT]});
    for answered in [complete(&client, &upload, &other).await, cancel(&client, &upload).await] {
        assert_refused(&answered, 409, "completed");
        assert_eq!(answered.header("x-should-retry"), "false");
    }
    assert_refused(&send(app.client(), &upload, b"late").await, 409, "completed");
    let file = first.json()["file"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(client.delete(&format!("/openai/v1/files/{file}")).await.status, 200);
    assert_eq!(complete(&client, &upload, &body).await.json()["file"], Value::Null, "it was deleted");
    assert_stored(&app, 512).await;
    app.stop().await;
}

#[tokio::test]
async fn a_call_with_an_idempotency_key_is_done_once() {
    let app = TestApp::start().await;
    let text = lines(2);
    let keyed = || app.client().with("idempotency-key", "retry-1");
    let mut answers = Vec::new();
    for _ in 0..2 {
        let begun = keyed().post("/openai/v1/uploads", &create_body(text.len())).await;
        let upload = begun.id();
        let part = send(keyed(), &upload, text.as_bytes()).await;
        let body = json!({"part_ids": [part.json()["id"]]});
        let completed = complete(&keyed(), &upload, &body).await;
        assert_eq!((begun.status, part.status, completed.status), (200, 200, 200), "{completed:?}");
        answers.push([begun, part, completed]);
    }
    for (first, second) in answers[0].iter().zip(&answers[1]) {
        assert_eq!(first.body, second.body);
        assert_eq!(second.header("idempotent-replayed"), "true");
    }
    let other = keyed().post("/openai/v1/uploads", &create_body(text.len() + 1)).await;
    assert_refused(&other, 422, "Idempotency-Key");
    let keys: i64 = answers[0].iter().map(|answer| 256 + answer.body.len() as i64).sum();
    assert_stored(&app, text.len() as i64 + 2 * 512 + keys).await;
    app.stop().await;
}

#[tokio::test]
async fn an_upload_that_is_cancelled_or_expires_takes_nothing_more_and_gives_back_what_it_stored() {
    let app = TestApp::start().await;
    let client = app.client();
    let [cancelled, expired] = [begin(&client, 9).await, begin(&client, 9).await];
    let parts = [part(&app, &cancelled, b"123456789").await, part(&app, &expired, b"123456789").await];
    assert_stored(&app, 2 * (512 + 512 + 9)).await;
    for _ in 0..2 {
        let answered = cancel(&client, &cancelled).await;
        assert_eq!((answered.status, &answered.json()["status"]), (200, &json!("cancelled")));
    }
    assert_stored(&app, 512 + 512 + 512 + 9).await;
    app.clock.set(START + HOUR_MS);
    workers::files(&app.services, START + HOUR_MS).await.expect("an expiry");
    assert_stored(&app, 2 * 512).await;
    for (upload, part, status) in [(&cancelled, &parts[0], "cancelled"), (&expired, &parts[1], "expired")] {
        assert_refused(&send(app.client(), upload, b"late").await, 409, status);
        assert_refused(&complete(&client, upload, &json!({"part_ids": [part]})).await, 409, status);
    }
    assert_refused(&cancel(&client, &expired).await, 409, "expired");
    app.clock.set(START + 24 * HOUR_MS);
    workers::files(&app.services, START + 24 * HOUR_MS).await.expect("a purge");
    assert_refused(&cancel(&client, &expired).await, 404, "no such upload");
    assert_stored(&app, 0).await;
    app.stop().await;
}

#[tokio::test]
async fn a_foreign_upload_and_one_that_there_is_not_look_alike() {
    let app = TestApp::start().await;
    let upload = begin(&app.client(), 9).await;
    let part = part(&app, &upload, b"123456789").await;
    let body = json!({"part_ids": [part]});
    for (client, id) in [
        (app.stranger(), upload.as_str()),
        (app.client(), "upload_01jz8m3v6qf8jbk2w5n7y9t0xd"),
        (app.client(), "x"),
        (app.client(), &upload.replace("upload_", "file_")),
    ] {
        assert_refused(&send(client.clone(), id, b"x").await, 404, "there is no such upload");
        assert_refused(&complete(&client, id, &body).await, 404, "there is no such upload");
        assert_refused(&cancel(&client, id).await, 404, "there is no such upload");
    }
    for operation in ["", "/x/parts", "/x/complete", "/x/cancel"] {
        let path = format!("/openai/v1/uploads{operation}");
        assert_eq!(app.anonymous().send("POST", &path, "{}").await.status, 401);
        let wrong = app.client().get(&path).await;
        assert_eq!((wrong.status, wrong.header("allow")), (405, "POST"), "{path}");
    }
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_upload_or_part_is_refused_and_leaves_nothing() {
    let app = TestApp::start_with(&[("limits.file", "64 KiB")]).await;
    for (key, value) in [
        ("bytes", json!(0)),
        ("bytes", json!((64 << 10) + 1)),
        ("bytes", json!("5")),
        ("filename", json!("")),
        ("filename", json!("a\u{0}b")),
        ("filename", json!("x".repeat(1_025))),
        ("mime_type", json!(null)),
        ("purpose", json!("fine-tune")),
        ("purpose", json!(null)),
        ("expires_after", json!({"anchor": "created_at"})),
        ("expires_after", json!({"anchor": "now", "seconds": 3_600})),
        ("expires_after", json!({"anchor": "created_at", "seconds": 3_599})),
    ] {
        let mut body = create_body(9);
        body[key] = value;
        assert_refused(&app.client().post("/openai/v1/uploads", &body).await, 400, key);
    }
    assert_stored(&app, 0).await;
    let upload = begin(&app.client(), 9).await;
    assert_refused(&send(app.client(), &upload, b"").await, 400, "data must not be empty");
    assert_refused(&send(app.client(), &upload, &[b'x'; 28]).await, 400, "27 bytes together");
    let path = format!("/openai/v1/uploads/{upload}/parts");
    assert_eq!(app.client().post(&path, &json!({})).await.status, 415);
    let form = format!("multipart/form-data; boundary={BOUNDARY}");
    let empty =
        app.client().with("content-type", &form).send("POST", &path, format!("--{BOUNDARY}--\r\n")).await;
    assert_refused(&empty, 400, "data");
    assert_stored(&app, 512).await;
    // Invalid lines are refused when the upload is completed.
    let long = vec![b'x'; 40 << 10];
    let upload = begin(&app.client(), 40 << 10).await;
    let part = part(&app, &upload, &long).await;
    let bad = complete(&app.client(), &upload, &json!({"part_ids": [part]})).await.json();
    assert_eq!(bad["file"]["status"], "error", "{bad}");
    app.stop().await;
}

#[tokio::test]
async fn parts_that_are_too_long_are_refused_before_they_have_come() {
    let app = TestApp::start().await;
    let upload = begin(&app.client(), 10).await;
    let head = format!(
        "POST /openai/v1/uploads/{upload}/parts HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\ncontent-type: multipart/form-data; boundary={BOUNDARY}\r\n",
        app.key()
    );
    let form =
        format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"data\"; filename=\"upload\"\r\n\r\n");
    let piece = form.clone() + &"x".repeat(100);
    for sent in [
        format!("{head}content-length: {}\r\n\r\n{form}", 40 << 20),
        format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{piece}\r\n", piece.len()),
    ] {
        let mut raw = app.raw().await;
        let answer = raw.send(&sent).await.until("30 bytes together").await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
    app.stop().await;
}

#[tokio::test]
async fn an_account_has_64_pending_uploads_and_its_parts_count_as_what_it_stores() {
    let app = TestApp::start_with(&[("quotas.stored_bytes", "1 MiB")]).await;
    let first = begin(&app.client(), 640 << 10).await;
    let part_id = part(&app, &first, &vec![b' '; 640 << 10]).await;
    assert_refused(&send(app.client(), &first, &vec![b'x'; 640 << 10]).await, 429, "quota");
    assert_refused(&complete(&app.client(), &first, &json!({"part_ids": [part_id]})).await, 429, "quota");
    assert_eq!(send(app.stranger(), &first, b"x").await.status, 404);
    assert_eq!(cancel(&app.client(), &first).await.status, 200);
    let mut uploads = Vec::new();
    for _ in 0..64 {
        uploads.push(begin(&app.client(), 9).await);
    }
    let one_more = app.client().post("/openai/v1/uploads", &create_body(9)).await;
    assert_refused(&one_more, 400, "64 pending uploads");
    begin(&app.stranger(), 9).await;
    assert_eq!(cancel(&app.client(), &uploads[0]).await.status, 200);
    begin(&app.client(), 9).await;
    app.stop().await;
}
