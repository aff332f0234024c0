//! Forms that are sent more than once: by a double click, a reload, or the back button.

use overnight_app::{api_keys, webhooks};
use overnight_domain::roles::Role;

use super::browser::Browser;
use super::visit;
use crate::support::TestApp;

/// The token of a page's forms.
async fn token_on(browser: &mut Browser, path: &str) -> String {
    let page = browser.get(path).await;
    let (_, rest) = page.text().split_once("name=\"once\" value=\"").expect("a form with a name");
    let token = rest.split_once('"').expect("a value").0.to_owned();
    assert_eq!(token.len(), 64);
    token
}

fn key_on(page: &str) -> &str {
    let start = page.find("on_live_").expect("a key");
    &page[start..start + 57]
}

#[tokio::test]
async fn a_key_is_made_once_and_every_answer_shows_it() {
    let (app, account, mut browser) = visit("a@example.com", Role::Owner).await;
    let path = format!("/console/{}/keys", account.id);
    let token = token_on(&mut browser, &path).await;
    let count = async || api_keys::list(&app.services, account.id).await.expect("a list").keys.len();
    let before = count().await;
    let form = |name: &'static str| [("name", name), ("expires", "90d"), ("once", &*token)];
    let mut other = browser.copy();
    let (form_1, form_2) = (form("nightly"), form("nightly"));
    let (first, second) = tokio::join!(browser.post(&path, &form_1), other.post(&path, &form_2));
    let reloaded = browser.post(&path, &form("nightly")).await;
    let key = key_on(first.text());
    assert_eq!((key_on(second.text()), key_on(reloaded.text())), (key, key));
    assert_eq!(count().await, before + 1);
    crate::support::Client::new(app.address, Some(key)).get("/v1/requests").await.checked(200);
    // The back button, and other values in the form.
    let changed = browser.post(&path, &form("weekly")).await;
    assert_ne!(key_on(changed.text()), key);
    assert_eq!(count().await, before + 2);
    app.stop().await;
}

#[tokio::test]
async fn lines_that_are_sent_twice_are_one_batch() {
    let (app, account, mut browser) = visit("a@example.com", Role::Owner).await;
    let path = format!("/console/{}/new", account.id);
    let token = token_on(&mut browser, &path).await;
    let line = TestApp::quick_start("hello").to_string();
    let form = [("once", &*token), ("lines", &*line), ("file", ""), ("name", "twice"), ("webhook", "")];
    let mut other = browser.copy();
    let (first, second) = tokio::join!(browser.post_parts(&path, &form), other.post_parts(&path, &form));
    let answers = [first, second, browser.post_parts(&path, &form).await];
    // The second of two concurrent forms may arrive while the first is being processed, and is refused then.
    let sent: Vec<_> = answers.iter().filter(|it| it.status == 303).map(|it| it.header("location")).collect();
    assert!(sent.len() >= 2 && sent.iter().all(|it| it == &sent[0]), "{answers:?}");
    let count = async |path| app.client().get(path).await.lines().len();
    assert_eq!((count("/v1/batches").await, count("/v1/requests").await), (1, 1));
    let more = format!("{line}\n{line}");
    let changed = [("once", &*token), ("lines", &*more), ("name", "twice")];
    assert_eq!(browser.post_parts(&path, &changed).await.status, 303);
    assert_eq!((count("/v1/batches").await, count("/v1/requests").await), (2, 3));

    app.fail_all().await;
    let batch = format!("/console/{}", sent[0].split_once("/console/").map_or(sent[0], |(_, rest)| rest));
    let batch = batch.split_once('?').expect("a flash").0.to_owned();
    let again = token_on(&mut browser, &batch).await;
    let send = format!("{batch}/again");
    let first = browser.post(&send, &[("once", &again)]).await;
    let second = browser.post(&send, &[("once", &again)]).await;
    assert_eq!((first.status, first.header("location")), (303, second.header("location")));
    assert_eq!((count("/v1/batches").await, count("/v1/requests").await), (3, 4));
    app.stop().await;
}

#[tokio::test]
async fn a_secret_is_replaced_once_and_a_test_is_sent_once() {
    let (app, account, mut browser) = visit("a@example.com", Role::Owner).await;
    let home = format!("/console/{}/webhooks", account.id);
    let token = token_on(&mut browser, &home).await;
    let count = async || webhooks::secrets(&app.services, account.id).await.expect("secrets").len();
    let before = count().await;
    for _ in 0..2 {
        let form = [("once", &*token), ("overlap", "24h")];
        browser.post(&format!("{home}/rotate"), &form).await.checked(303);
    }
    assert_eq!(count().await, before + 1);
    let form = [("once", &*token), ("url", "https://example.com/hook")];
    let first = browser.post(&format!("{home}/test"), &form).await;
    let second = browser.post(&format!("{home}/test"), &form).await;
    assert_eq!((first.status, first.header("location")), (303, second.header("location")));
    app.stop().await;
}
