//! Pages that update themselves.

use overnight_app::{sessions, users};
use overnight_domain::roles::Role;

use super::visit;
use crate::support::TestApp;

fn asking(path: &str, cookie: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:8080\r\naccept: text/event-stream\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
    )
}

#[tokio::test]
async fn a_page_is_sent_when_it_changes_and_no_more_once_its_reader_is_signed_out() {
    let (app, account, browser) = visit("a@example.com", Role::Viewer).await;
    let mut raw = app.raw().await;
    raw.send(asking(&format!("/console/{}/keys", account.id), &browser.cookie_header())).await;
    let first = raw.until("</html>").await;
    let is_so = first.contains("content-type: text/event-stream") && first.contains("data: <!doctype html>");
    assert!(is_so, "{first}");
    app.new_key_named(account.id, "new-on-the-page").await;
    assert!(raw.until("</html>").await.contains("new-on-the-page"));
    let user = users::named(&app.services, "a@example.com").await.unwrap();
    sessions::sign_out_everywhere(&app.services, &user, None).await.unwrap();
    app.new_key_named(account.id, "not-to-be-seen").await;
    assert!(!raw.rest().await.contains("not-to-be-seen"));
    app.stop().await;
}

#[tokio::test]
async fn a_look_at_the_credits_adds_up_no_keys() {
    let (app, account, mut browser) = visit("a@example.com", Role::Viewer).await;
    app.create("one").await;
    app.complete_all().await;
    let path = format!("/console/{}/credits", account.id);
    let page = browser.get(&path).await;
    assert!(page.text().contains("Spent by model") && page.text().contains("Spent by API key"));
    let mut raw = app.raw().await;
    raw.send(asking(&path, &browser.cookie_header())).await;
    let look = raw.until("</html>").await;
    assert!(look.contains("Spent by model") && !look.contains("Spent by API key"), "{look}");
    drop(raw);
    app.stop().await;
}

#[tokio::test]
async fn who_is_not_signed_in_follows_nothing() {
    let app = TestApp::start().await;
    let mut raw = app.raw().await;
    let followed = raw.send(asking("/console/you", "a=b")).await.rest().await;
    assert!(followed.starts_with("HTTP/1.1 204 "), "{followed}");
    let mut raw = app.raw().await;
    let page = raw.send(asking("/console/sign-in", "a=b")).await.rest().await;
    assert!(page.contains("content-type: text/html"), "{page}");
    app.stop().await;
}
