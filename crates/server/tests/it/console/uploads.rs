//! Uploads that arrive slowly.

use overnight_domain::roles::Role;

use super::member;
use crate::support::TestApp;

const BOUNDARY: &str = "----form";

fn head(path: &str, cookie: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:8080\r\norigin: http://127.0.0.1:8080\r\ncookie: {cookie}\r\n\
         content-type: multipart/form-data; boundary={BOUNDARY}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    )
}

fn form(text: &str) -> String {
    format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"lines\"\r\n\r\n{text}\r\n--{BOUNDARY}--\r\n"
    )
}

/// Five accounts send only the beginning of a file.
#[tokio::test]
async fn uploads_that_stand_still_refuse_nobody_else() {
    let app = TestApp::start().await;
    let account = app.own().await;
    let mut idle = Vec::new();
    for number in 0..5 {
        let other = overnight_app::accounts::create(&app.services, &format!("idle {number}")).await.unwrap();
        let browser = member(&app, &other, &format!("idle-{number}@example.com"), Role::Owner).await;
        let path = format!("/console/{}/new/check", other.id);
        let mut raw = app.raw().await;
        let head = head(&path, &browser.cookie_header(), 1 << 20);
        raw.send(head.replacen("connection: close", "expect: 100-continue", 1)).await;
        raw.until("100 Continue").await;
        raw.send(form("a beginning").trim_end_matches("--\r\n").to_owned()).await;
        idle.push((raw, path, browser));
    }
    let browser = member(&app, &account, "a@example.com", Role::Owner).await;
    let lines =
        form("\n{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}\nno json\n");
    let mut raw = app.raw().await;
    raw.send(head(&format!("/console/{}/new/check", account.id), &browser.cookie_header(), lines.len()))
        .await;
    let page = raw.send(lines).await.rest().await;
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(page.contains("ine 3"), "lines are counted from the first, blank ones too: {page}");
    let (_, path, browser) = &idle[0];
    let mut raw = app.raw().await;
    let second = form("a second one");
    raw.send(head(path, &browser.cookie_header(), second.len())).await;
    let refused = raw.send(second).await.rest().await;
    assert!(refused.contains("being read already"), "an account has one at a time: {refused}");
    drop(idle);
    app.stop().await;
}

#[tokio::test]
async fn forms_that_are_too_long_are_refused_before_they_have_come() {
    let app = TestApp::start().await;
    let account = app.own().await;
    let browser = member(&app, &account, "a@example.com", Role::Owner).await;
    let mut raw = app.raw().await;
    let path = format!("/console/{}/new/check", account.id);
    raw.send(head(&path, &browser.cookie_header(), 40 << 20)).await;
    raw.until("are more than 32 MiB").await;
    app.stop().await;
}

/// Only SQLite's folder, which also holds uploads, has a reserve.
#[tokio::test]
async fn an_upload_is_refused_where_a_create_would_be_for_want_of_space() {
    let app = TestApp::start().await;
    if app.services.store.is_shared() {
        return app.stop().await;
    }
    let account = app.own().await;
    let browser = member(&app, &account, "a@example.com", Role::Owner).await;
    app.services.store.set_disk_reserve(u64::MAX).await.expect("a reserve");
    let lines = form("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}");
    let mut raw = app.raw().await;
    let path = format!("/console/{}/new/check", account.id);
    raw.send(head(&path, &browser.cookie_header(), lines.len())).await;
    let page = raw.send(lines).await.rest().await;
    assert!(page.starts_with("HTTP/1.1 503 ") && page.contains("the disk is nearly full"), "{page}");
    app.stop().await;
}
