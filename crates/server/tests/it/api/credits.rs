//! Credits in the API: payments not activated, insufficient credits, and balances.

use futures_util::future::join_all;
use overnight_app::api_keys::KeyDraft;
use overnight_app::{Services, accounts};
use overnight_domain::requests::RequestStatus;
use overnight_store::Store;
use overnight_store::identity::accounts::Account;
use serde_json::{Value, json};

use crate::support::{Client, MODEL, TestApp, store_options};

/// The hold of a request of [`body`]: 16 + 32 tokens read and 1,000 written, at 0.10 and 0.15 for a million.
const HOLD: &str = "0.0001548";

fn body() -> Value {
    json!({"request_body": {"model": MODEL, "max_tokens": 1000, "messages": [{"role": "user", "content": "a"}]}})
}

async fn account(app: &TestApp, credits: &str, is_activated: bool) -> (Account, Client) {
    let services = &app.services;
    let account = accounts::create(services, "poor").await.expect("an account");
    if credits != "0" {
        let credits = credits.parse().expect("credits");
        accounts::grant(services, account.id, credits, None).await.expect("a grant");
    }
    if is_activated {
        accounts::activate(services, account.id).await.expect("an activation");
    }
    let client = app.new_key(account.id, KeyDraft::PLAIN).await.0;
    (account, client)
}

/// The balance, held and available credits.
async fn amounts(client: &Client) -> [Value; 3] {
    let account = client.get("/v1/account").await.json();
    ["balance", "held", "available"].map(|name| account[name].clone())
}

#[tokio::test]
async fn without_activated_payments_no_operation_works_and_with_them_at_once() {
    let app = TestApp::start().await;
    let (account, client) = account(&app, "10", false).await;
    for (method, path) in [
        ("GET", "/v1/requests"),
        ("POST", "/v1/requests"),
        ("GET", "/v1/models"),
        ("GET", "/v1/account"),
        ("POST", "/v1/batches/req_1/cancel"),
        ("GET", "/v1/nowhere"),
        ("DELETE", "/v1/models"),
    ] {
        let error = client.send(method, path, "not even JSON").await.refused(402, "payments_not_activated");
        assert_eq!(error["type"], "billing_error", "{path}");
    }
    app.anonymous().get("/v1/models").await.refused(401, "invalid_api_key");
    // The operator's process.
    let store = Store::open_beside(&store_options(app.folder.path())).await.expect("a store");
    let Services { clock, ids, .. } = app.services.clone();
    let config = app.services.config();
    let operator = Services::new(store, clock, ids, config).await.expect("services");
    accounts::activate(&operator, account.id).await.expect("an activation");
    assert_eq!(client.get("/v1/models").await.status, 200);
    assert_eq!(client.post("/v1/requests", &body()).await.status, 201);
    app.stop().await;
}

#[tokio::test]
async fn a_create_beyond_the_credits_names_what_it_needs_and_what_there_is_and_nothing_else_is_barred() {
    let app = TestApp::start().await;
    let (account, client) = account(&app, "0.0002", true).await;
    let id = client.post("/v1/requests", &body()).await.checked(201).id();
    assert_eq!(amounts(&client).await, ["0.0002", HOLD, "0.0000452"]);

    let error = client.post("/v1/requests", &body()).await.refused(402, "insufficient_credits");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains(HOLD) && message.contains("0.0000452"), "{message}");
    // Faults of the body have precedence.
    client.post("/v1/requests", &json!({})).await.refused(422, "invalid_input");
    assert_eq!(client.get("/v1/requests").await.ids(), std::slice::from_ref(&id));
    assert_eq!(client.post("/v1/batches", &json!({"requests_ids": [id]})).await.status, 201);
    // A model without a price needs no credits.
    let free = json!({"request_body": {"model": "other", "messages": [{"role": "user", "content": "a"}]}});
    assert_eq!(client.post("/v1/requests", &free).await.status, 201);

    assert_eq!(client.cancel(&format!("/v1/requests/{id}")).await.status, 200);
    assert_eq!(amounts(&client).await, ["0.0002", "0", "0.0002"]);
    assert_eq!(client.post("/v1/requests", &body()).await.status, 201);
    client.post("/v1/requests", &body()).await.refused(402, "insufficient_credits");
    // A grant counts as soon as the call returns.
    let more = "0.0002".parse().expect("credits");
    accounts::grant(&app.services, account.id, more, None).await.expect("a grant");
    assert_eq!(client.post("/v1/requests", &body()).await.status, 201);
    app.stop().await;
}

#[tokio::test]
async fn of_two_racing_creates_with_credit_for_one_exactly_one_is_taken() {
    let app = TestApp::start().await;
    for _ in 0..20 {
        let (_, client) = account(&app, "0.0003", true).await;
        let body = body();
        let answers =
            join_all([client.post("/v1/requests", &body), client.post("/v1/requests", &body)]).await;
        let mut statuses: Vec<u16> = answers.iter().map(|answered| answered.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 402]);
        let refused = answers.iter().find(|answered| answered.status == 402).expect("one");
        let error = refused.refused(402, "insufficient_credits");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(HOLD) && message.contains("0.0001452"), "{message}");
        assert_eq!(client.get("/v1/requests").await.ids().len(), 1);
    }
    app.stop().await;
}

#[tokio::test]
async fn a_result_is_charged_for_what_was_used() {
    let app = TestApp::start().await;
    let before = amounts(&app.client()).await;
    assert_eq!(before, ["1000", "0", "1000"]);
    for _ in 0..3 {
        assert_eq!(app.client().post("/v1/requests", &body()).await.status, 201);
    }
    let leases = app.lease_all().await;
    // 3 tokens read and 1 written.
    app.complete(&leases[0]).await;
    app.fail(&leases[1]).await;
    assert_eq!(amounts(&app.client()).await, ["999.99999955", HOLD, "999.99984475"]);
    assert!(!app.settle(&leases[0], RequestStatus::Completed).await);
    assert_eq!(amounts(&app.client()).await[0], "999.99999955");
    app.stop().await;
}

#[tokio::test]
async fn where_billing_is_off_nothing_is_priced_and_nobody_is_refused() {
    let app = TestApp::start_with(&[("billing.enabled", "false")]).await;
    let (_, client) = account(&app, "0", false).await;
    assert_eq!(client.get("/v1/models").await.json()["data"][0]["input_price"], json!(null));
    assert_eq!(client.post("/v1/requests", &body()).await.status, 201);
    assert_eq!(amounts(&client).await, ["0", "0", "0"]);
    assert_eq!(app.client().post("/v1/requests", &body()).await.status, 201);
    app.complete(&app.lease_all().await[0]).await;
    assert_eq!(amounts(&app.client()).await, ["1000", "0", "1000"]);
    app.stop().await;
}
