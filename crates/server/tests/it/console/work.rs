//! Requests on pages: their order, names and results.

use overnight_app::engines::{EnginePause, EngineState};
use overnight_domain::roles::Role;
use serde_json::json;

use super::{both_accounts, member, operator, visit};
use crate::support::{START, TestApp, idle_engine};

async fn create(app: &TestApp, content: &str, metadata: serde_json::Value) -> String {
    let mut body = TestApp::quick_start(content);
    body["metadata"] = metadata;
    app.client().post("/v1/requests", &body).await.checked(201).id()
}

async fn group(app: &TestApp, ids: &[String]) -> String {
    app.client().post("/v1/batches", &json!({"requests_ids": ids})).await.checked(201).id()
}

/// Checks that a page has these texts in this order.
fn assert_in_order(page: &str, texts: &[&str]) {
    let places: Vec<_> =
        texts.iter().map(|text| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"))).collect();
    assert!(places.is_sorted(), "{texts:?} at {places:?}: {page}");
}

#[tokio::test]
async fn requests_of_a_batch_stand_in_its_order_under_the_names_that_people_gave_them() {
    let (app, account, mut browser) = visit("a@example.com", Role::Viewer).await;
    let mut ids = Vec::new();
    for number in 1..=55 {
        let metadata = match number {
            2 => json!({}),
            _ => json!({"custom_id": format!("item-{number:02}"), "dataset": "reviews"}),
        };
        ids.push(create(&app, &format!("prompt {number:02}"), metadata).await);
    }
    let batch = group(&app, &ids).await;
    let list = format!("/console/{}/requests?batch={batch}", account.id);
    let first = browser.get(&list).await;
    assert_in_order(first.text(), &["item-01", "row 1 dataset=reviews", "Row 2<", "item-03", "item-50"]);
    first.lacks("item-51");
    let next = first.text().split("href=\"").find(|part| part.contains("\">Next requests")).expect("a page");
    let next = next.split('"').next().unwrap().replace("&#38;", "&");
    let second = browser.get(&next).await;
    assert_in_order(second.text(), &["item-51", "row 51 ", "item-55", "row 55 "]);
    app.stop().await;
}

#[tokio::test]
async fn failed_requests_keep_their_prompts_and_stand_together_with_those_that_failed_alike() {
    let (app, account, mut browser) = visit("a@example.com", Role::Viewer).await;
    let mut ids = Vec::new();
    for number in 1..=3 {
        ids.push(create(&app, &format!("prompt {number}"), json!({})).await);
    }
    let batch = group(&app, &ids).await;
    app.fail_all().await;
    let list = format!("/console/{}/requests?batch={batch}", account.id);
    let failed = browser.get(&format!("{list}&status=failed")).await;
    assert_in_order(
        failed.text(),
        &["3 × ", "Row 1<", "prompt 1", "Row 2<", "prompt 2", "Row 3<", "prompt 3"],
    );
    let all = browser.get(&list).await;
    let beneath = all.text().matches("</div><div class=\"line failed\">").count();
    assert_eq!(beneath, 3, "{}", all.text());
    app.stop().await;
}

#[tokio::test]
async fn a_cancelled_batch_costs_nothing_more_and_its_bar_says_what_became_of_it() {
    let (app, account, mut browser) = visit("a@example.com", Role::Owner).await;
    let (batch, _) = app.create_batch(3).await;
    let path = format!("/console/{}/batches/{batch}", account.id);
    browser.get(&path).await.shows("more for unfinished requests");
    browser.post(&format!("{path}/cancel"), &[]).await.checked(303);
    let after = browser.get(&path).await;
    after.lacks("unfinished requests");
    after.shows("aria-label=\"3 cancelled\"");
    after.shows("class=\"drop\" x=\"0.0\" width=\"100.0\"");
    app.stop().await;
}

#[tokio::test]
async fn a_request_is_sent_again_once_and_tells_what_happened_to_it() {
    let (app, account, mut browser) = visit("a@example.com", Role::Developer).await;
    let id = create(&app, "tell me", json!({"custom_id": "item-7"})).await;
    let path = format!("/console/{}/requests/{id}", account.id);
    let waiting = browser.get(&path).await;
    assert_in_order(waiting.text(), &["item-7", "Created", "Grouping similar prompts until", "Ends by"]);
    waiting.lacks("Send again");
    app.fail_all().await;
    let failed = browser.get(&path).await;
    assert_in_order(failed.text(), &["Send again", "Created", "First sent to an engine", ">Failed<"]);
    let form = [("once", "one")];
    let first = browser.post(&format!("{path}/again"), &form).await;
    let second = browser.post(&format!("{path}/again"), &form).await;
    assert_eq!((first.status, first.header("location")), (303, second.header("location")));
    let made = first.header("location").to_owned();
    assert!(made.contains("/requests/req_") && !made.contains(&id), "{made}");
    let again = browser.get(&made).await;
    assert_in_order(again.text(), &["sent again, as this one", "item-7", "tell me"]);
    let mut viewer = member(&app, &account, "b@example.com", Role::Viewer).await;
    assert_eq!(viewer.post(&format!("{path}/again"), &form).await.status, 403);
    app.stop().await;
}

#[tokio::test]
async fn who_waits_for_a_paused_engine_reads_so_and_operators_read_which_and_why() {
    let app = TestApp::start().await;
    let account = app.own().await;
    let (batch, ids) = app.create_batch(1).await;
    app.lease_all().await;
    let home = format!("/console/{}", account.id);
    let pages = [home.clone(), format!("{home}/batches/{batch}"), format!("{home}/requests/{}", ids[0])];
    let (mut owner, mut operator) =
        (member(&app, &account, "a@example.com", Role::Owner).await, operator(&app).await);
    app.report_engine(idle_engine()).await;
    for page in &pages {
        assert!(!owner.get(page).await.text().contains("Stalled:"), "{page}");
    }
    let pause = Some(EnginePause { until: Some(START + 600_000), reason: "it said 500".to_owned() });
    app.report_engine(EngineState { pause, ..idle_engine() }).await;
    app.clock.set(START + 60_000);
    for page in &pages {
        let seen = owner.get(page).await;
        let is_so = seen.text().contains("Stalled:") && seen.text().contains("is paused until");
        assert!(is_so, "{page}: {seen:?}");
        assert!(!seen.text().contains("gpu-0") && !seen.text().contains("it said 500"), "{page}: {seen:?}");
        operator.get(page).await.shows("<code>gpu-0</code>: it said 500");
    }
    app.stop().await;
}

#[tokio::test]
async fn unfinished_batches_come_first_however_old_they_are() {
    let (app, account, mut browser) = visit("a@example.com", Role::Viewer).await;
    let (oldest, _) = app.create_batch(1).await;
    let mut ended = Vec::new();
    for _ in 0..6 {
        let (batch, _) = app.create_batch(1).await;
        app.client().post(&format!("/v1/batches/{batch}/cancel"), &json!({})).await.checked(200);
        ended.push(batch);
    }
    let page = browser.get(&format!("/console/{}", account.id)).await;
    assert_in_order(page.text(), &[&oldest, &ended[5], &ended[2]]);
    page.lacks(&ended[1]);
    app.stop().await;
}

#[tokio::test]
async fn the_places_of_an_account_stay_on_the_pages_of_the_visitor() {
    let app = TestApp::start().await;
    let [account, other] = both_accounts(&app).await;
    let mut browser = member(&app, &account, "a@example.com", Role::Owner).await;
    let link = format!("href=\"/console/{}/batches\"", account.id);
    assert!(browser.get("/console/you").await.text().contains(&link));
    // The browser does not keep a foreign account, whatever was requested.
    assert_eq!(browser.get(&format!("/console/{}", other.id)).await.status, 404);
    assert!(browser.get("/console/you").await.text().contains(&link));
    let mut operator = operator(&app).await;
    assert_eq!(operator.get(&format!("/console/{}/keys", other.id)).await.status, 200);
    let theirs = format!("href=\"/console/{}/batches\"", other.id);
    assert!(operator.get("/console/operator").await.text().contains(&theirs));
    app.stop().await;
}

#[tokio::test]
async fn one_prompt_is_sent_from_the_playground_once() {
    let (app, account, mut browser) = visit("a@example.com", Role::Developer).await;
    let path = format!("/console/{}/playground", account.id);
    let page = browser.get(&path).await;
    let model = page.text().split("<option value=\"").nth(1).expect("a model").split('"').next().unwrap();
    let form = |prompt: &'static str, limit: &'static str| {
        [("once", "one"), ("model", model), ("prompt", prompt), ("max_tokens", limit), ("temperature", "")]
    };
    for (prompt, limit, said) in [
        ("", "16", "The prompt is empty."),
        ("Hello", "many", "a whole number"),
        ("Hello", "0", "max_tokens"),
    ] {
        browser.post(&path, &form(prompt, limit)).await.checked(422).shows(said);
    }
    let first = browser.post(&path, &form("Hello <you>", "16")).await;
    let second = browser.post(&path, &form("Hello <you>", "16")).await;
    assert_eq!((first.status, first.header("location")), (303, second.header("location")));
    browser.get(first.header("location")).await.shows("Hello &#60;you&#62;");
    let mut viewer = member(&app, &account, "b@example.com", Role::Viewer).await;
    assert_eq!(viewer.post(&path, &form("Hello", "16")).await.status, 403);
    app.stop().await;
}
