//! Usage by day, model and API key. In every dialect, a request counts for the key that created it.

use overnight_app::api_keys::{self, KeyDraft};
use overnight_app::{closing, requests};
use overnight_domain::api_keys::KeyScope;
use overnight_domain::ids::{AccountId, KeyId};
use overnight_domain::roles::Role;
use overnight_runtime::workers;
use serde_json::{Value, json};
use url::form_urlencoded::byte_serialize;

use super::administration::administrator;
use super::openai_files::{create_as, fill, lines, upload_as};
use crate::console::member;
use crate::support::{Client, MODEL, START, TestApp, check_json};

const DAY_MS: i64 = 86_400_000;

/// The price of a request that reads 3 tokens and writes 1, at 0.10 and 0.15 for a million.
const COST: &str = "0.00000045";

/// A new key of the first account, and its client.
pub(super) async fn team(app: &TestApp, name: &str) -> (Client, KeyId) {
    let (client, made) = app.new_key_named(app.own().await.id, name).await;
    (client, made.record.id)
}

/// The records on all pages of a list.
pub(super) async fn usage(client: &Client, path: &str) -> Vec<Value> {
    let (mut rows, mut after) = (Vec::new(), String::new());
    loop {
        let page = client.read(&format!("{path}{after}")).await;
        rows.extend(page["data"].as_array().expect("records").clone());
        let Some(next) = page["next"].as_str() else { return rows };
        after = format!("&after={}", byte_serialize(next.as_bytes()).collect::<String>());
    }
}

/// The number of completed requests by name of the key.
pub(super) async fn by_name(client: &Client) -> Vec<(String, i64)> {
    let told = |row: &Value| {
        let name = row["api_key_name"].as_str().unwrap_or("none").to_owned();
        (name, row["requests"].as_i64().expect("a number"))
    };
    usage(client, "/v1/usage?group_by=api_key").await.iter().map(told).collect()
}

pub(super) fn counts(counts: &[(&str, i64)]) -> Vec<(String, i64)> {
    counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

#[tokio::test]
async fn what_each_key_spent_is_told_by_day_and_model_and_named_when_it_is_revoked() {
    let app = TestApp::start().await;
    let (eval, key) = team(&app, "eval").await;
    let (crawl, _) = team(&app, "crawl").await;
    let id = eval.create("one").await;
    crawl.create("two").await;
    crawl.create("three").await;
    app.complete_all().await;
    // Created earlier, and completed on the next day, when its key is revoked.
    eval.create("late").await;
    api_keys::revoke(&app.services, key).await.expect("a revocation");
    app.clock.set(START + DAY_MS);
    app.complete_all().await;
    // Failed and cancelled requests cost nothing.
    crawl.create("four").await;
    app.fail_all().await;

    let rows = usage(&crawl, "/v1/usage?group_by=api_key,model,day").await;
    let expected = |day: &str, name: &str, count: i64, credits: &str| {
        let key = if name == "eval" { json!(key.to_string()) } else { rows[1]["api_key_id"].clone() };
        json!({"day": day, "model": MODEL, "api_key_id": key, "api_key_name": name, "requests": count,
               "prompt_tokens": 3 * count, "completion_tokens": count, "credits": credits})
    };
    let days = ["2025-06-15", "2025-06-16"];
    let wanted = [
        expected(days[0], "eval", 1, COST),
        expected(days[0], "crawl", 2, "0.0000009"),
        expected(days[1], "eval", 1, COST),
    ];
    assert_eq!(rows, wanted);
    assert_eq!(by_name(&crawl).await, counts(&[("eval", 2), ("crawl", 2)]));
    assert_eq!(usage(&crawl, "/v1/usage?group_by=api_key,model,day&limit=1").await, rows, "page by page");
    let keys = usage(&crawl, "/v1/usage?group_by=api_key").await;
    assert_eq!(usage(&crawl, "/v1/usage?group_by=api_key&limit=1").await, keys);
    assert_eq!((&keys[0]["day"], &keys[0]["model"]), (&Value::Null, &Value::Null));
    // Without the grouping by key, as before keys were counted.
    let days_and_models = usage(&crawl, "/v1/usage?limit=1").await;
    assert_eq!(days_and_models.len(), 2);
    check_json(&days_and_models[0], &json!({"requests": 3, "api_key_id": null}));
    let first = usage(&crawl, &format!("/v1/usage?first_day={0}&last_day={0}&group_by=model", days[0])).await;
    assert_eq!((first.len(), &first[0]["requests"], &first[0]["model"]), (1, &json!(3), &json!(MODEL)));

    // A read key may read it too; other accounts may not.
    let draft = KeyDraft { scope: KeyScope::Read, ..KeyDraft::PLAIN };
    let reads = app.new_key(app.own().await.id, draft).await.0;
    assert_eq!(by_name(&reads).await.len(), 2);
    assert_eq!(usage(&app.stranger(), "/v1/usage?group_by=api_key").await, Vec::<Value>::new());
    let record = crawl.get(&format!("/v1/requests/{id}")).await.json();
    assert!(!record.to_string().contains("api_key"), "records of requests stay as they are: {record}");
    app.stop().await;
}

#[tokio::test]
async fn by_whichever_way_a_request_comes_it_counts_for_the_key_that_created_it() {
    let app = TestApp::start().await;
    let (single, _) = team(&app, "single").await;
    let (bulk, _) = team(&app, "bulk").await;
    let (files, _) = team(&app, "files").await;
    let (messages, _) = team(&app, "messages").await;
    let (exxa, _) = team(&app, "exxa").await;
    let (responses, _) = team(&app, "responses").await;

    let first = single.create("one").await;
    let lines_of = [1, 2, 3].map(|number| TestApp::quick_start(&format!("line {number}")).to_string());
    let sent = bulk.clone().with("content-type", "application/x-ndjson");
    let answered = sent.send("POST", "/v1/requests", lines_of.join("\n")).await;
    assert_eq!(answered.ids().len(), 3);
    // The batch has another key than its requests, which count for their own.
    let ids = [vec![first], answered.ids()].concat();
    assert_eq!(files.post("/v1/batches", &json!({"requests_ids": ids})).await.status, 201);
    let file = upload_as(&bulk, &lines(5)).await;
    create_as(&files, &file).await;
    let body = json!({"model": MODEL, "max_tokens": 5, "messages": [{"role": "user", "content": "a"}]});
    let batch = json!({"requests": [{"custom_id": "a", "params": body}, {"custom_id": "b", "params": body}]});
    messages.post("/anthropic/v1/messages/batches", &batch).await.checked(200);
    fill(&app).await;
    fill(&app).await;
    exxa.post("/exxa/v1/requests", &TestApp::quick_start("exxa")).await.checked(201);
    let body = json!({"model": MODEL, "input": "in the background", "background": true});
    responses.post("/openai/v1/responses", &body).await.checked(200);
    app.complete_all().await;
    let wanted = [("single", 1), ("bulk", 3), ("files", 5), ("messages", 2), ("exxa", 1), ("responses", 1)];
    assert_eq!(by_name(&single).await, counts(&wanted));
    app.stop().await;
}

#[tokio::test]
async fn a_repeat_by_another_key_is_the_first_keys_and_what_came_by_none_is_told_apart() {
    let app = TestApp::start().await;
    let (first, _) = team(&app, "first").await;
    let (second, _) = team(&app, "second").await;
    for client in [&first, &second] {
        let once = client.clone().with("idempotency-key", "the-same");
        assert_eq!(once.post("/v1/requests", &TestApp::quick_start("once")).await.status, 201);
    }
    let account = app.own().await;
    let mut browser = member(&app, &account, "a@example.com", Role::Owner).await;
    let line = TestApp::quick_start("by hand").to_string();
    let path = format!("/console/{}/new", account.id);
    let form = [("lines", &*line), ("file", ""), ("name", "by hand"), ("webhook", "")];
    assert_eq!(browser.post_parts(&path, &form).await.status, 303);
    let body = TestApp::quick_start("by an operator").to_string();
    requests::create(&app.services, app.account, requests::Sent::native(body)).await.expect("a request");
    app.complete_all().await;
    assert_eq!(by_name(&second).await, counts(&[("none", 2), ("first", 1)]));

    let credits = browser.get(&format!("/console/{}/credits", account.id)).await;
    for text in ["Spent by API key", "without a key", "first "] {
        assert!(credits.text().contains(text), "{text} in {}", credits.text());
    }
    let keys = browser.get(&format!("/console/{}/keys", account.id)).await;
    assert_eq!(keys.text().matches("Spent, 30 days\">–").count(), 2, "{}", keys.text());
    app.stop().await;
}

#[tokio::test]
async fn administrators_read_the_usage_of_every_account_until_it_is_erased() {
    let app = TestApp::start().await;
    let (admin, ..) = administrator(&app).await;
    let (client, _) = team(&app, "eval").await;
    client.create("one").await;
    app.complete_all().await;
    let account = app.own().await.id;
    let path = format!("/v1/admin/accounts/{account}/usage?group_by=api_key,day");
    let rows = usage(&admin, &path).await;
    assert_eq!(rows, usage(&client, "/v1/usage?group_by=day,api_key").await);
    assert_eq!((rows.len(), &rows[0]["api_key_name"]), (1, &json!("eval")));
    let nobodys = AccountId::from_bits(1);
    admin.get(&format!("/v1/admin/accounts/{nobodys}/usage")).await.refused(404, "not_found");
    client.get(&path).await.refused(403, "insufficient_scope");

    closing::close(&app.services, account).await.expect("an end");
    closing::erase(&app.services, account).await.expect("an erasure");
    let now = app.services.clock.now();
    workers::account_closer(&app.services, now).await.expect("a run");
    for _ in 0..2 {
        workers::account_eraser(&app.services, now).await.expect("a run");
    }
    let rows = usage(&admin, &path).await;
    assert_eq!((rows.len(), &rows[0]["api_key_id"]), (1, &Value::Null), "{rows:?}");
    app.stop().await;
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_by_name() {
    let app = TestApp::start().await;
    let client = app.client();
    for (query, param) in [
        ("group_by=key", "group_by"),
        ("group_by=day,day,day,day", "group_by"),
        ("group_by=", "group_by"),
        ("first_day=2025-6-1", "first_day"),
        ("last_day=today", "last_day"),
        ("first_day=2025-05-15&last_day=2025-06-15", "first_day"),
        ("first_day=2025-06-16&last_day=2025-06-15", "first_day"),
        ("first_day=2025-06-16", "first_day"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("after=7", "after"),
        ("after=2025-06-15,,key_00000000000000000000000000,&group_by=api_key", "after"),
        ("after=2025-06-15,,,no-model&group_by=model", "after"),
        ("days=7", "days"),
    ] {
        let refused = client.get(&format!("/v1/usage?{query}")).await.refused(422, "invalid_input");
        assert_eq!(refused["details"][0]["param"], param, "{query}: {refused}");
    }
    assert_eq!(client.get("/v1/usage?first_day=2025-05-16&last_day=2025-06-15").await.status, 200);
    app.stop().await;
}
