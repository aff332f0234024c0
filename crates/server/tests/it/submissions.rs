//! Many requests in one submission: checked, submitted, and resubmitted after failures.

use bytes::Bytes;
use overnight_app::errors::AppError;
use overnight_app::submissions::{self, Checked, DraftSource};
use overnight_app::{accounts, batches, requests};
use overnight_domain::ids::BatchId;
use overnight_domain::money::Credits;
use overnight_domain::records::BatchRecord;
use overnight_domain::requests::RequestStatus;
use serde_json::{Value, json};

use crate::support::{MODEL, TestApp};

fn chat(content: &str) -> Value {
    json!({"model": MODEL, "messages": [{"role": "user", "content": content}], "max_tokens": 10})
}

fn text(lines: &[Value]) -> Bytes {
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into()
}

async fn check(app: &TestApp, text: impl Into<Bytes>) -> Checked {
    submissions::check(&app.services, app.account, text.into()).await.expect("a check")
}

async fn submit(
    app: &TestApp,
    text: impl Into<Bytes>,
    name: Option<&str>,
    webhook: Option<&str>,
) -> Result<BatchRecord, AppError> {
    submissions::submit(&app.services, app.account, text.into(), name, webhook, None).await
}

async fn available(app: &TestApp) -> Credits {
    app.own().await.available()
}

async fn stored(app: &TestApp) -> Vec<Value> {
    app.client().get("/v1/requests?full=true").await.lines()
}

#[tokio::test]
async fn every_shape_of_line_is_checked_and_priced_and_nothing_is_stored() {
    let app = TestApp::start().await;
    let lines = [
        chat("one"),
        json!({"custom_id": "b", "method": "POST", "url": "/v1/chat/completions", "body": chat("two")}),
        json!({"request_body": {"model": "other", "messages": [{"role": "user", "content": "3"}]}}),
    ];
    let marked = [b"\xef\xbb\xbf".as_slice(), &text(&lines), b"\r\n \n"].concat();
    let checked = check(&app, marked).await;
    assert_eq!((checked.requests, checked.faults_total, checked.is_priced), (3, 0, true));
    let shares: Vec<_> = checked.by_model.iter().map(|share| (&*share.model, share.requests)).collect();
    assert_eq!(shares, [(MODEL, 2), ("other", 1)]);
    assert!(checked.by_model[0].hold > Credits::ZERO && checked.by_model[0].hold == checked.hold);
    assert_eq!(checked.available, available(&app).await);
    assert!(stored(&app).await.is_empty());
    app.stop().await;
}

#[tokio::test]
async fn what_is_wrong_with_lines_is_told_line_by_line() {
    let app = TestApp::start().await;
    let mut lines = vec![
        chat("fine").to_string(),
        String::new(),
        "{\"model\": 1".to_owned(),
        json!({"model": "unknown", "messages": [{"role": "user", "content": "x"}]}).to_string(),
        json!({"request_body": chat("x"), "webhok": "https://example.com"}).to_string(),
        "\u{0}\u{fffd}".to_owned(),
    ];
    let checked = check(&app, lines.join("\n")).await;
    assert_eq!((checked.requests, checked.faults_total), (1, 5));
    let places: Vec<DraftSource> = checked.faults.iter().map(|fault| fault.source).collect();
    assert_eq!(places, (2..=6).map(DraftSource::Line).collect::<Vec<_>>());
    for (fault, part) in checked.faults.iter().zip([
        "the line is empty",
        "the line is not valid",
        "request_body.model must be one of",
        "did you mean webhook?",
        "the line is not a JSON object",
    ]) {
        assert!(fault.message.contains(part), "{fault:?}");
    }
    let refused = submit(&app, lines.join("\n"), None, None).await;
    let Err(AppError::Invalid(invalid)) = refused else { panic!("{refused:?}") };
    assert_eq!((invalid.total, &*invalid.details[0].param), (Some(5), "line 2"));
    assert_eq!(invalid.details[0].message, "line 2: the line is empty");
    lines = vec!["{".to_owned(); 150];
    let checked = check(&app, lines.join("\n")).await;
    assert_eq!((checked.faults.len(), checked.faults_total), (100, 150));
    assert!(stored(&app).await.is_empty());
    app.stop().await;
}

#[tokio::test]
async fn a_text_of_nothing_or_of_too_much_is_refused() {
    let app = TestApp::start_with(&[("limits.batch_requests", "3")]).await;
    let long = vec![b' '; submissions::TEXT_BYTES_MAX + 1];
    for (text, part) in [
        (Vec::new(), "at least one line"),
        (b" \n\r\n".to_vec(), "at least one line"),
        (b"\xef\xbb\xbf".to_vec(), "at least one line"),
        (b"{}\n{}\n{}\n{}".to_vec(), "at most 3 lines"),
        (long, "at most 32 MiB"),
    ] {
        let refused = submissions::check(&app.services, app.account, text.into()).await;
        let message = refused.expect_err("a refusal").to_string();
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(check(&app, "{}\n{}\n{}\n\n").await.faults_total, 3);
    app.stop().await;
}

#[tokio::test]
async fn what_is_submitted_is_one_batch_in_the_order_of_its_lines() {
    let app = TestApp::start().await;
    let lines: Vec<Value> = (0..700).map(|number| chat(&format!("prompt {number}"))).collect();
    let (name, hook) = (Some("nightly \"ü\" \u{0}"), Some("https://example.com/hook"));
    let held = check(&app, text(&lines)).await.hold;
    let before = available(&app).await;
    let record = submit(&app, text(&lines), name, hook).await.expect("a batch");
    assert_eq!(batches::name_of(&record).as_deref(), name);
    assert_eq!((record.counters.total(), record.webhook.as_deref()), (700, hook));
    assert_eq!(before.checked_sub(available(&app).await), Some(held));
    let whole = batches::get_whole(&app.services, app.account, record.id).await.expect("the batch");
    for (place, id) in [(0, whole.requests_ids[0]), (699, whole.requests_ids[699])] {
        let request = requests::get_record(&app.services, app.account, id).await.expect("a request");
        assert_eq!(serde_json::from_slice::<Value>(&request.body).expect("JSON"), lines[place]);
        assert_eq!(request.batch_id, Some(record.id));
    }
    let unnamed = submit(&app, text(&lines[..1]), None, None).await;
    assert_eq!(unnamed.expect("a batch").metadata.as_deref(), Some(b"{}".as_slice()));
    for (name, hook, part) in [
        (Some("x".repeat(20_000)), None, "name is too long"),
        (None, Some("http://example.com"), "webhook must be an https URL"),
    ] {
        let line = text(&lines[..1]);
        let refused = submit(&app, line, name.as_deref(), hook).await;
        assert!(refused.expect_err("a refusal").to_string().contains(part));
    }
    app.stop().await;
}

#[tokio::test]
async fn what_cannot_be_paid_is_refused_before_anything_is_stored() {
    let app = TestApp::start().await;
    let dear = json!({"model": MODEL, "messages": [{"role": "user", "content": "x"}],
        "max_tokens": 2_000_000_000, "n": 2});
    let lines = vec![dear; 2];
    let checked = check(&app, text(&lines)).await;
    assert!(checked.hold > checked.available && checked.by_model[0].hold == checked.hold);
    let refused = submit(&app, text(&lines), None, None).await;
    let Err(AppError::InsufficientCredits { required, available }) = refused else { panic!("{refused:?}") };
    assert_eq!((required, available), (checked.hold, checked.available));
    assert!(stored(&app).await.is_empty());
    app.stop().await;
}

#[tokio::test]
async fn what_others_spend_meanwhile_takes_everything_back() {
    let app = TestApp::start().await;
    // The credits suffice for one of two concurrent submissions; the other is refused midway.
    let dear =
        json!({"model": MODEL, "messages": [{"role": "user", "content": "x"}], "max_tokens": 6_000_000});
    let lines = vec![dear; 1_000];
    let submit = || submit(&app, text(&lines), None, None);
    let (first, second) = tokio::join!(submit(), submit());
    let outcomes = [first, second];
    let taken = outcomes.iter().flatten().count();
    assert!(taken <= 1, "{outcomes:?}");
    let refused =
        outcomes.iter().filter(|it| matches!(it, Err(AppError::InsufficientCredits { .. }))).count();
    assert_eq!(taken + refused, 2, "{outcomes:?}");
    let live = stored(&app).await.iter().filter(|request| request["status"] == "registered").count();
    assert_eq!(live, taken * lines.len());
    app.stop().await;
}

#[tokio::test]
async fn what_failed_is_sent_again_as_a_batch_of_its_own() {
    let app = TestApp::start().await;
    let hook = "https://example.com/hook";
    let lines: Vec<Value> = (0..4)
        .map(|number| {
            json!({"request_body": chat(&format!("p{number}")), "webhook": hook,
            "metadata": if number == 1 { Value::Null } else { json!({"number": number}) }})
        })
        .collect();
    let first = submit(&app, text(&lines), Some("n"), Some(hook)).await.expect("a batch");
    let none = submissions::send_again(&app.services, app.account, first.id, None).await;
    assert!(none.expect_err("a refusal").to_string().contains("has no failed requests"));
    for lease in app.lease_all().await {
        let failed = [2, 4].contains(&lease.key.position.seq);
        let status = if failed { RequestStatus::Failed } else { RequestStatus::Completed };
        assert!(app.settle(&lease, status).await);
    }
    let again = submissions::send_again(&app.services, app.account, first.id, None).await.expect("a batch");
    assert_eq!(batches::name_of(&again).as_deref(), Some("n (again)"));
    assert_eq!((again.counters.total(), again.webhook.as_deref()), (2, Some(hook)));
    let whole = batches::get_whole(&app.services, app.account, again.id).await.expect("the batch");
    let mut sent = Vec::new();
    for id in whole.requests_ids {
        let record = requests::get_record(&app.services, app.account, id).await.expect("a request");
        assert_eq!(record.client.webhook.as_deref(), Some(hook));
        let body: Value = serde_json::from_slice(&record.body).expect("JSON");
        sent.push((body["messages"][0]["content"].clone(), record.client.metadata));
    }
    assert_eq!(sent, [(json!("p1"), None), (json!("p3"), Some(Bytes::from(r#"{"number":3}"#)))]);
    app.stop().await;
}

/// The service writes out members that the client left out.
#[tokio::test]
async fn a_request_as_long_as_the_limit_is_sent_again() {
    let app = TestApp::start().await;
    let bytes_max = app.services.config().limits.request_body_bytes;
    let sized = |length: usize| json!({"request_body": chat(&"p".repeat(length))}).to_string();
    let body = sized(bytes_max - sized(0).len());
    assert_eq!(body.len(), bytes_max);
    let id = app.client().send("POST", "/v1/requests", body).await.checked(201).id();
    let batch = BatchId::parse(&app.client().group(&[id]).await).expect("an id");
    app.fail_all().await;
    let again = submissions::send_again(&app.services, app.account, batch, None).await.expect("a batch");
    assert_eq!(again.counters.total(), 1);
    app.stop().await;
}

#[tokio::test]
async fn a_foreign_batch_is_not_sent_again_and_payments_have_to_be_activated() {
    let app = TestApp::start().await;
    let (batch, _) = app.create_batch(1).await;
    app.fail_all().await;
    let id = BatchId::parse(&batch).expect("an id");
    let other = accounts::create(&app.services, "other").await.expect("an account");
    let foreign = submissions::send_again(&app.services, other.key, id, None).await;
    assert!(matches!(foreign, Err(AppError::NotFound("batch"))), "{foreign:?}");
    let line = text(&[chat("x")]);
    let unpaid = submissions::submit(&app.services, other.key, line, None, None, None).await;
    assert!(matches!(unpaid, Err(AppError::PaymentsNotActivated)), "{unpaid:?}");
    let again = submissions::send_again(&app.services, app.account, id, None).await.expect("a batch");
    assert_eq!(batches::name_of(&again), Some(format!("{batch} (again)")));
    app.stop().await;
}
