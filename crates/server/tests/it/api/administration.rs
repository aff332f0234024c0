//! Calls under `/v1/admin` with API keys of the scope `admin`.

use overnight_app::api_keys::{self, KeyDraft};
use overnight_app::{accounts, audit_log};
use overnight_domain::api_keys::KeyScope;
use overnight_domain::ids::{AccountId, KeyId};
use overnight_domain::roles::Role;
use overnight_store::audit_log::{Filter, Place};
use serde_json::{Value, json};

use crate::console::member;
use crate::support::{Client, TestApp, check_json};

const ALL: Filter = Filter { account: None, action: None, since: 0, before: Place::END };

/// A key for administration in an operator's account, whose payments are not activated.
pub(super) async fn administrator(app: &TestApp) -> (Client, AccountId, KeyId) {
    let account = accounts::create(&app.services, "operations").await.expect("an account").id;
    let draft = KeyDraft { name: Some("provisioning"), scope: KeyScope::Admin, ..KeyDraft::PLAIN };
    let (client, made) = app.new_key(account, draft).await;
    (client, account, made.record.id)
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

#[tokio::test]
async fn an_account_is_made_keyed_funded_limited_suspended_and_resumed() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let account = admin.call("/v1/admin/accounts", &json!({"name": "acme"}), 201).await;
    assert_eq!((&account["name"], &account["payments_activated"]), (&json!("acme"), &json!(false)));
    let at = |rest: &str| format!("/v1/admin/accounts/{}{rest}", text(&account["id"]));
    let key = admin.call(&at("/api_keys"), &json!({"name": "nightly", "expires_in": 3600}), 201).await;
    let client = Client::new(app.address, Some(text(&key["key"])));
    client.get("/v1/account").await.refused(402, "payments_not_activated");
    assert_eq!(admin.call(&at("/activate"), &json!({}), 200).await["payments_activated"], true);
    assert_eq!(client.get("/v1/account").await.status, 200);

    let granted = admin.call(&at("/grants"), &json!({"amount": "25", "source": "invoice 7"}), 201).await;
    assert_eq!((&granted["available"], &granted["is_new"]), (&json!("25"), &json!(true)));
    let again = admin.call(&at("/grants"), &json!({"amount": "25", "source": "invoice 7"}), 201).await;
    assert_eq!((&again["available"], &again["is_new"]), (&json!("25"), &json!(false)));
    let grants = admin.read(&at("/grants")).await;
    assert_eq!(grants["data"].as_array().expect("grants").len(), 1);
    let totals = admin.read(&at("/totals")).await;
    for (name, value) in [("balance", "25"), ("held", "0"), ("available", "25"), ("spent", "0")] {
        assert_eq!(totals[name], value, "{name}");
    }

    let limits = json!({"tokens_per_day": 7, "live_requests": "none", "stored_bytes": null});
    let limited = admin.call(&at("/limits"), &limits, 200).await;
    check_json(&limited, &json!({"quotas.tokens_per_day.limit": 7, "quotas.live_requests.limit": null}));
    assert_eq!(admin.call(&at("/suspend"), &json!({}), 200).await["suspended"], true);
    let sent = json!({"request_body": {"model": "other", "messages": [{"role": "user", "content": "a"}]}});
    client.post("/v1/requests", &sent).await.refused(403, "account_suspended");
    admin.call(&at("/grants"), &json!({"amount": "1"}), 201).await;
    assert_eq!(admin.call(&at("/resume"), &json!({}), 200).await["suspended"], false);
    assert_eq!(admin.read(&at("")).await["available"], "26");

    let path = at(&format!("/api_keys/{}/revoke", text(&key["record"]["id"])));
    assert!(admin.call(&path, &json!({}), 200).await["revoked_at"].is_i64());
    client.get("/v1/account").await.refused(401, "invalid_api_key");
    let keys = admin.read(&at("/api_keys")).await;
    assert!(!keys.to_string().contains(text(&key["key"])), "a key is told once");
    app.stop().await;
}

#[tokio::test]
async fn everything_is_in_the_audit_log_with_the_key_as_actor() {
    let app = TestApp::start().await;
    let (admin, _, key) = administrator(&app).await;
    let before = audit_log::list(&app.services, &ALL, 999).await.expect("entries").entries.len();
    let account = admin.call("/v1/admin/accounts", &json!({"name": "acme"}), 201).await;
    let at = |rest: &str| format!("/v1/admin/accounts/{}{rest}", text(&account["id"]));
    admin.call(&at("/grants"), &json!({"amount": "25"}), 201).await;
    let made = admin.call(&at("/api_keys"), &json!({}), 201).await;
    admin.call(&at("/suspend"), &json!({}), 200).await;
    let entries = audit_log::list(&app.services, &ALL, 999).await.expect("entries").entries;
    let new = &entries[..entries.len() - before];
    let actions: Vec<&str> = new.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["account.suspend", "api_key.create", "credits.grant", "account.create"]);
    for entry in new {
        assert_eq!(entry.actor_id, Some(key.to_string()), "{entry:?}");
        assert_eq!(entry.actor_name.as_deref(), Some("provisioning"));
        assert_eq!(entry.account.map(|id| id.to_string()).as_deref(), account["id"].as_str());
        assert!(entry.is_operator && entry.address.is_some(), "{entry:?}");
        assert!(!format!("{entry:?}").contains(text(&made["key"])), "{entry:?}");
    }
    app.stop().await;
}

#[tokio::test]
async fn calls_with_one_idempotency_key_are_done_once() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let once = admin.clone().with("idempotency-key", "one");
    let account = once.call("/v1/admin/accounts", &json!({"name": "acme"}), 201).await;
    let again = once.post("/v1/admin/accounts", &json!({"name": "acme"})).await.checked(201);
    assert_eq!((again.json(), again.header("idempotent-replayed")), (account.clone(), "true"));
    let at = |rest: &str| format!("/v1/admin/accounts/{}{rest}", text(&account["id"]));
    for (path, body, other) in [
        (at("/api_keys"), json!({"name": "nightly"}), json!({"name": "daily"})),
        (at("/grants"), json!({"amount": "25"}), json!({"amount": "26"})),
    ] {
        let first = once.call(&path, &body, 201).await;
        let again = once.post(&path, &body).await.checked(201);
        assert_eq!((again.json(), again.header("idempotent-replayed")), (first, "true"), "{path}");
        once.post(&path, &other).await.refused(422, "idempotency_key_reused");
    }
    once.post("/v1/admin/accounts", &json!({"name": "b"})).await.refused(422, "idempotency_key_reused");
    let keys = admin.read(&at("/api_keys")).await;
    assert_eq!(keys["data"].as_array().expect("keys").len(), 1);
    assert_eq!(admin.read(&at("")).await["balance"], "25");
    app.stop().await;
}

#[tokio::test]
async fn accounts_and_grants_are_listed_page_by_page() {
    let app = TestApp::start().await;
    let (admin, account, _) = administrator(&app).await;
    for number in 0..5 {
        accounts::create(&app.services, &format!("account {number}")).await.expect("an account");
        let amount = format!("{}", number + 1).parse().expect("credits");
        accounts::grant(&app.services, account, amount, None).await.expect("a grant");
    }
    for (path, count) in
        [("/v1/admin/accounts".to_owned(), 8), (format!("/v1/admin/accounts/{account}/grants"), 5)]
    {
        let all = admin.read(&format!("{path}?limit=100")).await;
        assert_eq!((all["data"].as_array().expect("rows").len(), &all["next"]), (count, &Value::Null));
        let (mut rows, mut query) = (Vec::new(), "?limit=2".to_owned());
        loop {
            let page = admin.read(&format!("{path}{query}")).await;
            rows.extend(page["data"].as_array().expect("rows").clone());
            let Some(next) = page["next"].as_str() else { break };
            query = format!("?limit=2&after={next}");
        }
        assert_eq!(json!(rows), all["data"], "{path}");
    }
    for query in ["?limit=0", "?limit=101", "?before=a"] {
        admin.get(&format!("/v1/admin/accounts{query}")).await.refused(422, "invalid_input");
    }
    admin.get("/v1/admin/accounts?after=nothing").await.refused(404, "not_found");
    app.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_named_and_nothing_is_done() {
    let app = TestApp::start().await;
    let (admin, account, _) = administrator(&app).await;
    let unknown = format!("/v1/admin/accounts/{}", AccountId::from_bits(1));
    for rest in ["", "/totals", "/api_keys", "/grants"] {
        admin.get(&format!("{unknown}{rest}")).await.refused(404, "not_found");
    }
    for (rest, body) in [
        ("/suspend", json!({})),
        ("/limits", json!({"tokens_per_day": 1})),
        ("/api_keys", json!({})),
        ("/grants", json!({"amount": "1"})),
    ] {
        admin.post(&format!("{unknown}{rest}"), &body).await.refused(404, "not_found");
    }
    let at = |rest: &str| format!("/v1/admin/accounts/{account}{rest}");
    for (path, body, param) in [
        ("/v1/admin/accounts".to_owned(), json!({}), "name"),
        ("/v1/admin/accounts".to_owned(), json!({"name": ""}), "name"),
        ("/v1/admin/accounts".to_owned(), json!({"name": "a", "nmae": 1}), "nmae"),
        (at("/limits"), json!({"tokens_per_day": 0}), "tokens_per_day"),
        (at("/limits"), json!({"tokens_per_day": "many"}), "tokens_per_day"),
        (at("/api_keys"), json!({"scope": "all"}), "scope"),
        (at("/api_keys"), json!({"expires_in": -1}), "expires_in"),
        (at("/grants"), json!({"amount": 25}), "amount"),
        (at("/grants"), json!({"amount": "much"}), "amount"),
        (at("/grants"), json!({"amount": "-1"}), "amount"),
    ] {
        let refused = admin.post(&path, &body).await;
        assert_eq!(refused.refused(422, "invalid_input")["param"], param, "{path} {body}");
    }
    assert_eq!(accounts::list(&app.services).await.expect("accounts").len(), 3);
    app.stop().await;
}

#[tokio::test]
async fn a_key_locks_itself_out_in_no_way() {
    let app = TestApp::start().await;
    let (admin, account, key) = administrator(&app).await;
    let path = format!("/v1/admin/accounts/{account}/api_keys/{key}/revoke");
    let refused = admin.post(&path, &json!({})).await;
    assert_eq!(refused.refused(422, "invalid_input")["param"], "api_key_id");
    let at = |rest: &str| format!("/v1/admin/accounts/{account}{rest}");
    assert_eq!(admin.call(&at("/suspend"), &json!({}), 200).await["suspended"], true);
    admin.post("/v1/batches", &json!({})).await.refused(403, "account_suspended");
    assert_eq!(admin.call(&at("/resume"), &json!({}), 200).await["suspended"], false);
    app.stop().await;
}

#[tokio::test]
async fn only_operators_make_keys_for_administration_and_no_other_key_administrates() {
    let app = TestApp::start().await;
    let own = app.own().await;
    let keys = format!("/console/{}/keys", own.id);
    let form = [("name", "mine"), ("expires", "never"), ("scope", "admin")];
    for role in [Role::Owner, Role::Developer] {
        let mut browser = member(&app, &own, &format!("{}@example.com", role.as_str()), role).await;
        assert!(!browser.get(&keys).await.text().contains("value=\"admin\""));
        assert_eq!(browser.post(&keys, &form).await.status, 403);
    }
    let listed = api_keys::list(&app.services, own.id).await.expect("keys").keys;
    assert!(listed.iter().all(|key| key.scope != KeyScope::Admin));
    let mut operator = crate::console::operator(&app).await;
    assert!(operator.get(&keys).await.text().contains("value=\"admin\""));
    assert_eq!(operator.post(&keys, &form).await.status, 200);
    let listed = api_keys::list(&app.services, own.id).await.expect("keys").keys;
    assert_eq!(listed.iter().filter(|key| key.scope == KeyScope::Admin).count(), 1);

    for client in [app.client(), app.stranger()] {
        client.get("/v1/admin/accounts").await.refused(403, "insufficient_scope");
        client.get("/v1/admin/accounts/").await.refused(403, "insufficient_scope");
        client.post("/v1/admin/accounts", &json!({"name": "a"})).await.refused(403, "insufficient_scope");
    }
    app.anonymous().get("/v1/admin/accounts").await.refused(401, "invalid_api_key");
    app.stop().await;
}
