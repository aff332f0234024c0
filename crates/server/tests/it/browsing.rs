//! Lists as people browse them.

use overnight_app::errors::AppError;
use overnight_app::failures::Failure;
use overnight_app::{SEARCH_CHARS_MAX, accounts, batches, requests};
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::requests::RequestStatus;
use overnight_store::queue::settle::{self, Ending, Settlement};
use serde_json::json;

use crate::support::{MODEL, TestApp};

async fn page(app: &TestApp, query: requests::BrowseQuery) -> requests::RequestsPage {
    requests::browse(&app.services, app.account, &query).await.expect("a page")
}

#[tokio::test]
async fn requests_are_shown_with_what_was_asked_and_what_became_of_it() {
    let app = TestApp::start().await;
    app.create("  What is\nthe capital\tof France?").await;
    let long = app.create(&"x".repeat(17_000)).await;
    let body = json!({"request_body": {"model": "other", "messages": [{"role": "user", "content": "hm"}]},
        "metadata": {"run": 7}});
    let other = app.client().post("/v1/requests", &body).await.json()[0]["id"].clone();
    let leases = app.lease_all().await;
    app.complete(&leases[0]).await;
    app.fail(&leases[1]).await;
    let rows = page(&app, requests::BrowseQuery::default()).await.rows;
    let [third, second, first] = &rows[..] else { panic!("{rows:?}") };
    let ended = [first, second].map(|row| row.summary.state.status());
    let (completed, failed) = match ended {
        [RequestStatus::Completed, RequestStatus::Failed] => (first, second),
        [RequestStatus::Failed, RequestStatus::Completed] => (second, first),
        other => panic!("{other:?}"),
    };
    assert_eq!(first.excerpt.as_deref(), Some("What is the capital of France?"));
    assert_eq!((&second.excerpt, second.summary.id.to_string()), (&None, long));
    assert!(second.body_bytes > 17_000);
    assert_eq!((completed.charge.prompt_tokens, &completed.failure), (Some(3), &None));
    let charge = requests::charge_of(&app.services, app.account, completed.summary.id).await;
    assert_eq!(charge.expect("a charge"), completed.charge);
    assert!(completed.charge.amount.is_some_and(|amount| amount.nanos() > 0));
    let failure = failed.failure.as_ref().expect("a failure");
    assert_eq!((&*failure.message, failure.code.as_deref()), ("no", Some("engine_rejected")));
    let expected = ("other", other.as_str().expect("an id").into());
    assert_eq!((&*third.model, third.summary.id.to_string()), expected);
    for (search, model, count) in [
        (Some("run=7"), None, 1),
        (Some("  "), None, 3),
        (Some("run=8"), None, 0),
        (None, Some(MODEL), 2),
        (None, Some("never"), 0),
    ] {
        let [search, model] = [search, model].map(|text| text.map(str::to_owned));
        let query = requests::BrowseQuery { search, model, ..Default::default() };
        assert_eq!(page(&app, query.clone()).await.rows.len(), count, "{query:?}");
    }
    app.stop().await;
}

#[tokio::test]
async fn foreign_requests_and_batches_look_like_unknown_ones() {
    let app = TestApp::start().await;
    let (batch, ids) = app.create_batch(2).await;
    let (batch, id) = (BatchId::parse(&batch).expect("an id"), RequestId::parse(&ids[0]).expect("an id"));
    let other = accounts::create(&app.services, "other").await.expect("an account").key;
    let services = &app.services;
    let of_batch = requests::BrowseQuery { batch: Some(batch), ..Default::default() };
    assert_eq!(page(&app, of_batch.clone()).await.rows.len(), 2);
    let theirs = requests::browse(services, other, &of_batch).await.expect("a page");
    assert_eq!(theirs, requests::RequestsPage::default());
    let behind = requests::BrowseQuery { before: Some(id), ..Default::default() };
    assert_eq!(page(&app, behind.clone()).await.rows.len(), 0);
    let theirs = [
        requests::browse(services, other, &behind).await.map(drop),
        requests::charge_of(services, other, id).await.map(drop),
        batches::failure_groups(services, other, batch).await.map(drop),
        batches::browse(services, other, &batches::BrowseQuery { before: Some(batch), ..Default::default() })
            .await
            .map(drop),
    ];
    assert!(theirs.iter().all(|it| matches!(it, Err(AppError::NotFound(_)))), "{theirs:?}");
    let unknown = requests::RequestHandling::default();
    assert_eq!(requests::handling(services, other, id).await.expect("an answer"), unknown);
    let long = requests::BrowseQuery { search: Some("x".repeat(SEARCH_CHARS_MAX + 1)), ..Default::default() };
    let refused = requests::browse(services, app.account, &long).await;
    assert!(matches!(refused, Err(AppError::Invalid(_))), "{refused:?}");
    app.stop().await;
}

#[tokio::test]
async fn batches_are_shown_by_name_and_their_failures_in_groups() {
    let app = TestApp::start().await;
    let (batch, _) = app.create_batch(9).await;
    let id = BatchId::parse(&batch).expect("an id");
    let words = ["a", "a", "a", "b", "b", "c", "d", "e", "f"];
    for (lease, word) in app.lease_all().await.into_iter().zip(words) {
        let body = json!({"error": {"message": word, "code": "engine_rejected"}}).to_string().into_bytes();
        let now = app.services.clock.now();
        let (body, ending) = (body.into(), Ending::Failed);
        let settlement = Settlement { lease, ending, body, warnings: None, now, attempt: None, engine: None };
        assert!(settle::settle(&app.services.store, settlement).await.expect("a settle"));
    }
    let found = batches::failure_groups(&app.services, app.account, id).await.expect("groups");
    let groups: Vec<_> = found.groups.iter().map(|group| (&*group.failure.message, group.requests)).collect();
    assert_eq!((groups.len(), &groups[..2]), (6, &[("a", 3), ("b", 2)][..]));
    assert_eq!((found.looked_at, found.has_more), (9, false));
    let failure = &found.groups[0].failure;
    let other = Failure { message: "g".to_owned(), ..failure.clone() };
    assert_eq!((found.count_of(failure), found.count_of(&other)), (Some(3), None));
    let live = app.create("more").await;
    let body = json!({"requests_ids": [live], "metadata": {"batch_name": "nightly"}});
    assert_eq!(app.client().post("/v1/batches", &body).await.status, 201);
    assert_eq!(batches::count_live(&app.services, app.account).await.expect("a count"), 1);
    let query = batches::BrowseQuery::default();
    let rows = batches::browse(&app.services, app.account, &query).await.expect("a page").rows;
    let names: Vec<_> = rows.iter().map(|row| row.name.as_deref()).collect();
    assert_eq!(names, [Some("nightly"), None]);
    app.stop().await;
}
