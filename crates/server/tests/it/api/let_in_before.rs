//! Unfinished calls that began before the account was suspended or closed, or the key was revoked.

use overnight_app::accounts::members;
use overnight_app::errors::AppError;
use overnight_app::users::{Standing, invitations};
use overnight_app::{accounts, api_keys, closing, users, webhooks};
use overnight_config::Millis;
use overnight_domain::ids::AccountId;
use overnight_domain::roles::Role;
use overnight_runtime::workers;
use serde_json::json;

use super::administration::administrator;
use crate::support::{Client, Raw, TestApp};

async fn begin(app: &TestApp, path: &str, headers: &str) -> Raw {
    let mut raw = Raw::connect(app.address).await;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: test\r\nx-api-key: {}\r\nconnection: close\r\n{headers}\r\n",
        app.key()
    );
    raw.send(head).await;
    raw
}

fn line(content: &str) -> String {
    let line = format!("{}\n", TestApp::quick_start(content));
    format!("{:x}\r\n{line}\r\n", line.len())
}

/// A bulk create whose first line was accepted.
async fn bulk(app: &TestApp) -> Raw {
    let mut raw =
        begin(app, "/v1/requests", "content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n")
            .await;
    raw.send(line("before")).await.until("registered").await;
    raw
}

/// A create whose body lacks its last byte.
async fn slow(app: &TestApp, path: &str, content_type: &str, body: &str) -> Raw {
    let headers =
        format!("content-type: {content_type}\r\ncontent-length: {}\r\nexpect: 100-continue\r\n", body.len());
    let mut raw = begin(app, path, &headers).await;
    // Sent once the call has passed the checks.
    raw.until("100 Continue").await;
    raw.send(&body[..body.len() - 1]).await;
    raw
}

async fn erased(app: &TestApp, id: AccountId) {
    closing::close(&app.services, id).await.expect("a closed account");
    closing::erase(&app.services, id).await.expect("a mark");
    let now = app.services.clock.now();
    workers::account_closer(&app.services, now).await.expect("a run");
    for _ in 0..3 {
        workers::account_eraser(&app.services, now).await.expect("a run");
    }
    assert!(app.own().await.erased_at.is_some());
}

#[tokio::test]
async fn lines_of_a_call_are_refused_once_its_account_is_suspended_or_its_key_revoked() {
    let app = TestApp::start().await;
    let id = app.own().await.id;
    let mut raw = bulk(&app).await;
    accounts::suspend(&app.services, id).await.expect("a suspension");
    raw.send(line("while it is suspended")).await.until("account_suspended").await;
    accounts::resume(&app.services, id).await.expect("an account that goes on");
    raw.send(line("after it")).await.until("registered").await;
    let keys = api_keys::list(&app.services, id).await.expect("keys").keys;
    for key in keys {
        api_keys::revoke(&app.services, key.id).await.expect("a key less");
    }
    raw.send(line("without a key")).await.until("invalid_api_key").await;
    raw.send("0\r\n\r\n").await.rest().await;
    assert_eq!(app.own().await.live_requests, 2);
    app.stop().await;
}

#[tokio::test]
async fn nothing_is_stored_in_an_account_that_was_erased_while_its_calls_went_on() {
    let app = TestApp::start().await;
    let id = app.own().await.id;
    let one = TestApp::quick_start("slow").to_string();
    let upload =
        json!({"purpose": "batch", "filename": "a.jsonl", "bytes": 9, "mime_type": "application/jsonl"});
    let file = "--b\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--b\r\n\
        content-disposition: form-data; name=\"file\"; filename=\"a.jsonl\"\r\n\r\n{}\r\n--b--";
    let mut lines = bulk(&app).await;
    let mut calls = [
        slow(&app, "/v1/requests", "application/json", &one).await,
        slow(&app, "/openai/v1/uploads", "application/json", &upload.to_string()).await,
        slow(&app, "/openai/v1/files", "multipart/form-data; boundary=b", file).await,
    ];
    // A form ends with its last hyphen. If more were missing, the file would be complete.
    let ends = ["}", "}", "-"];
    erased(&app, id).await;
    lines.send(line("after it")).await.until("invalid_api_key").await;
    lines.send("0\r\n\r\n").await.rest().await;
    for (raw, end) in calls.iter_mut().zip(ends) {
        let answer = raw.send(end).await.rest().await;
        let is_refused = ["403 Forbidden", "503 Service Unavailable"].iter().any(|it| answer.contains(it));
        assert!(is_refused, "{answer}");
    }
    let left = app.own().await;
    assert_eq!((left.live_requests, left.stored_bytes), (0, 0));
    app.stop().await;
}

#[tokio::test]
async fn nothing_is_made_in_a_closed_account_by_whatever_way() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let own = app.own().await;
    let at = |rest: &str| format!("/v1/admin/accounts/{}{rest}", own.id);
    let once = admin.clone().with("idempotency-key", "terraform");
    let made = once.post(&at("/api_keys"), &json!({"name": "ci"})).await.checked(201);
    let again = once.post(&at("/api_keys"), &json!({"name": "ci"})).await;
    assert_eq!(made.json()["key"], again.json()["key"]);
    let user = users::create(&app.services, "new@example.com", Standing::Ordinary).await.expect("a user");
    closing::close(&app.services, own.id).await.expect("a closed account");

    let new = admin.clone().with("idempotency-key", "another");
    for client in [&new, &admin] {
        client.post(&at("/api_keys"), &json!({"name": "ci"})).await.refused(422, "invalid_input");
    }
    // A repeat returns the first call's key, which is revoked by now.
    let repeat = once.post(&at("/api_keys"), &json!({"name": "ci"})).await.json();
    assert_eq!(repeat["key"], made.json()["key"]);
    let revoked = Client::new(app.address, repeat["key"].as_str());
    revoked.get("/v1/models").await.refused(401, "invalid_api_key");
    admin.post(&at("/grants"), &json!({"amount": "5"})).await.refused(422, "invalid_input");
    assert_eq!(admin.post(&at("/grants"), &json!({"amount": "-1"})).await.status, 201, "it is taken back");
    let services = &app.services;
    let closed = app.own().await;
    let refused = [
        members::add(services, &closed, &user, Role::Owner).await.map(drop),
        invitations::invite(services, &closed, "a@example.com", Role::Owner).await.map(drop),
        webhooks::rotate(services, own.id, Millis(0), None).await.map(drop),
        accounts::set_retention(services, own.id, None).await.map(drop),
    ];
    for outcome in refused {
        assert!(matches!(outcome, Err(AppError::Invalid(_))), "{outcome:?}");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_call_for_a_key_that_is_repeated_after_its_answer_was_forgotten_makes_another_key() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let admin = admin.with("idempotency-key", "terraform");
    let path = format!("/v1/admin/accounts/{}/api_keys", app.own().await.id);
    let first = admin.post(&path, &json!({"name": "ci"})).await.checked(201);
    workers::idempotency_keys(&app.services, app.services.clock.now() + 49 * 3_600_000).await.expect("a run");
    let later = admin.post(&path, &json!({"name": "ci"})).await.checked(201);
    assert_ne!(first.json()["key"], later.json()["key"]);
    app.stop().await;
}
