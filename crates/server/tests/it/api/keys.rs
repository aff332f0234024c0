//! Rights and lifetimes of API keys.

use overnight_app::api_keys::{KeyDraft, USABLE_MAX};
use overnight_app::{Services, accounts, api_keys};
use overnight_domain::api_keys::KeyScope;
use overnight_runtime::workers;
use overnight_store::Store;

use crate::support::{Client, START, TestApp, store_options};

/// A second process for the operator's commands.
async fn operator(app: &TestApp) -> Services {
    let store = Store::open_beside(&store_options(app.folder.path())).await.expect("a store");
    let (clock, ids) = (app.services.clock.clone(), app.services.ids.clone());
    Services::new(store, clock, ids, app.services.config().clone()).await.expect("services")
}

#[tokio::test]
async fn a_key_made_elsewhere_works_at_once_and_its_revocation_is_felt_within_a_second() {
    let app = TestApp::start().await;
    let operator = operator(&app).await;
    let account = accounts::create(&operator, "made elsewhere").await.expect("an account");
    accounts::activate(&operator, account.id).await.expect("an activation");
    let made = api_keys::create(&operator, account.id, KeyDraft::PLAIN).await.expect("a key");
    let client = Client::new(app.address, Some(&made.key));
    assert_eq!(client.get("/v1/models").await.status, 200);
    assert_eq!(client.get("/v1/models").await.status, 200);
    api_keys::revoke(&operator, made.record.id).await.expect("a revocation");
    app.clock.set(START + 1_000);
    client.get("/v1/models").await.refused(401, "invalid_api_key");
    assert_eq!(app.client().get("/v1/models").await.status, 200);
    app.stop().await;
}

#[tokio::test]
async fn a_network_that_brings_many_wrong_keys_waits_and_keys_that_worked_go_on() {
    let app = TestApp::start_with(&[("console.trusted_proxies", "[]")]).await;
    assert_eq!(app.client().get("/v1/models").await.status, 200);
    let wrong = app.revoked().await;
    for _ in 0..300 {
        wrong.get("/v1/models").await.refused(401, "invalid_api_key");
    }
    let refused = wrong.get("/v1/models").await;
    refused.refused(429, "too_many_wrong_keys");
    assert_eq!(refused.header("retry-after"), "1");
    for at in [START, START + 100] {
        app.clock.set(at);
        assert_eq!(app.client().get("/v1/models").await.status, 200, "{at}");
    }
    // Calls without a key are not limited.
    app.anonymous().get("/v1/models").await.refused(401, "invalid_api_key");
    app.stranger().get("/v1/models").await.refused(429, "too_many_wrong_keys");
    app.clock.set(START + 1_000);
    assert_eq!(app.stranger().get("/v1/models").await.status, 200);
    assert_eq!(app.client().get("/v1/models").await.status, 200);
    app.check_counted("overnight_http_wrong_keys_throttled_total").await;
    app.stop().await;
}

#[tokio::test]
async fn a_proxy_that_is_believed_waits_for_nobodys_wrong_keys() {
    let app = TestApp::start().await;
    let wrong = app.revoked().await;
    for _ in 0..301 {
        wrong.get("/v1/models").await.refused(401, "invalid_api_key");
    }
    let behind = |place| wrong.clone().with("x-forwarded-for", place);
    for _ in 0..300 {
        behind("192.0.2.1").get("/v1/models").await.refused(401, "invalid_api_key");
    }
    behind("192.0.2.1").get("/v1/models").await.refused(429, "too_many_wrong_keys");
    behind("192.0.2.2").get("/v1/models").await.refused(401, "invalid_api_key");
    app.stop().await;
}

#[tokio::test]
async fn a_key_is_listed_without_its_secret_and_expires_when_it_was_told_to() {
    let app = TestApp::start().await;
    let account = accounts::create(&app.services, "brief").await.expect("an account");
    accounts::activate(&app.services, account.id).await.expect("an activation");
    let draft = KeyDraft { name: Some("brief"), expires_in_ms: Some(300), ..KeyDraft::PLAIN };
    let (client, made) = app.new_key(account.id, draft).await;
    assert_eq!(client.get("/v1/models").await.status, 200);
    let listed = api_keys::list(&app.services, account.id).await.expect("keys").keys;
    assert_eq!(listed, std::slice::from_ref(&made.record));
    assert!(made.key.starts_with(&made.record.prefix) && made.record.prefix.len() < 20);
    app.clock.set(START + 299);
    assert_eq!(client.get("/v1/models").await.status, 200);
    app.clock.set(START + 300);
    client.get("/v1/models").await.refused(401, "invalid_api_key");
    app.stop().await;
}

#[tokio::test]
async fn a_key_tells_when_it_was_used_last_and_one_that_opens_nothing_tells_nothing() {
    let app = TestApp::start().await;
    let account = accounts::create(&app.services, "used").await.expect("an account");
    accounts::activate(&app.services, account.id).await.expect("an activation");
    let (client, _) = app.new_key(account.id, KeyDraft::PLAIN).await;
    let (gone, revoked) = app.new_key(account.id, KeyDraft::PLAIN).await;
    api_keys::revoke(&app.services, revoked.record.id).await.expect("a revocation");
    let listed = async || {
        workers::key_usage_flusher(&app.services).await.expect("a note");
        let keys = api_keys::list(&app.services, account.id).await.expect("keys").keys;
        keys.into_iter().map(|key| key.last_used_at).collect::<Vec<_>>()
    };
    assert_eq!(listed().await, [None, None]);
    gone.get("/v1/models").await.refused(401, "invalid_api_key");
    assert_eq!(client.get("/v1/models").await.status, 200);
    assert_eq!(listed().await, [Some(START), None]);
    for (later_ms, used_at) in [(59_000, START), (60_000, START + 60_000)] {
        app.clock.set(START + later_ms);
        assert_eq!(client.get("/v1/models").await.status, 200);
        assert_eq!(listed().await, [Some(used_at), None], "once a minute");
    }
    app.stop().await;
}

#[tokio::test]
async fn no_key_is_made_for_nobody_or_for_no_time() {
    let app = TestApp::start().await;
    let account = app.own().await.id;
    let nobody = overnight_domain::ids::AccountId::from_bits(1);
    let plain = KeyDraft::PLAIN;
    for (account, draft) in [
        (nobody, plain),
        (account, KeyDraft { name: Some(""), ..plain }),
        (account, KeyDraft { name: Some("a\u{1b}[31m"), ..plain }),
        (account, KeyDraft { expires_in_ms: Some(0), ..plain }),
    ] {
        assert!(api_keys::create(&app.services, account, draft).await.is_err(), "{draft:?}");
    }
    app.stop().await;
}

#[tokio::test]
async fn an_account_whose_keys_all_work_gets_no_more_until_one_is_revoked() {
    let app = TestApp::start().await;
    let account = accounts::create(&app.services, "many keys").await.expect("an account").id;
    let create = || api_keys::create(&app.services, account, KeyDraft::PLAIN);
    let mut made = None;
    for _ in 0..USABLE_MAX {
        made = Some(create().await.expect("a key").record);
    }
    let refused = create().await.expect_err("too many");
    let message = "account has 1000 keys that work, and may have no more: revoke one first";
    assert_eq!(refused.to_string(), message);
    api_keys::revoke(&app.services, made.expect("a key").id).await.expect("a revocation");
    create().await.expect("a key");
    app.stop().await;
}

#[tokio::test]
async fn a_key_that_reads_changes_nothing_in_any_dialect() {
    let app = TestApp::start_with(&[("billing.enabled", "false")]).await;
    let draft = KeyDraft { scope: KeyScope::Read, ..KeyDraft::PLAIN };
    let (reader, made) = app.new_key(app.own().await.id, draft).await;
    assert_eq!(made.record.scope, KeyScope::Read);
    let id = app.create("by another key").await;
    assert_eq!(reader.get(&format!("/v1/requests/{id}")).await.status, 200);
    assert_eq!(reader.get("/v1/requests").await.status, 200);
    let body = TestApp::quick_start("no").to_string();
    for (method, path, kind) in [
        ("POST", "/v1/requests", "permission_error"),
        ("POST", "/v1/batches", "permission_error"),
        ("POST", &*format!("/v1/requests/{id}/cancel"), "permission_error"),
        ("DELETE", &*format!("/v1/requests/{id}"), "permission_error"),
        ("POST", "/openai/v1/chat/completions", "permission_error"),
        ("POST", "/openai/v1/files", "permission_error"),
        ("POST", "/anthropic/v1/messages", "permission_error"),
    ] {
        let refused = reader.send(method, path, body.clone()).await;
        assert_eq!((refused.status, &refused.json()["error"]["type"]), (403, &kind.into()), "{path}");
    }
    let refused = reader.send("POST", "/v1/requests", body).await;
    assert_eq!(refused.json()["error"]["code"], "insufficient_scope");
    let listed = app.client().get("/v1/requests").await;
    assert_eq!(listed.text().lines().count(), 1, "nothing was created: {}", listed.text());
    app.stop().await;
}

#[tokio::test]
async fn a_suspended_account_reads_and_changes_nothing_until_it_is_resumed() {
    let app = TestApp::start().await;
    let id = app.create("before").await;
    let account = app.own().await.id;
    for _ in 0..2 {
        accounts::suspend(&app.services, account).await.expect("a suspension");
    }
    let body = TestApp::quick_start("no").to_string();
    let refused = app.client().send("POST", "/v1/requests", body.clone()).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (403, &"account_suspended".into()));
    assert_eq!(app.client().cancel(&format!("/v1/requests/{id}")).await.status, 403);
    assert_eq!(app.client().get(&format!("/v1/requests/{id}")).await.status, 200);
    assert_eq!(app.client().get("/v1/account").await.json()["suspended"], true);
    // Other accounts are not limited.
    assert_eq!(app.stranger().send("POST", "/v1/requests", body.clone()).await.status, 201);
    accounts::resume(&app.services, account).await.expect("an account that goes on");
    assert_eq!(app.client().send("POST", "/v1/requests", body).await.status, 201);
    assert_eq!(app.client().get("/v1/account").await.json()["suspended"], false);
    app.stop().await;
}
