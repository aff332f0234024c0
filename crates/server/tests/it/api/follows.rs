//! Results in the order in which requests end, and clients that follow them.

use std::time::Duration;

use overnight_domain::requests::RequestStatus;
use serde_json::json;

use crate::support::{Answered, Raw, TestApp};

const LAST_CHUNK: &str = "0\r\n\r\n";

fn results(batch: &str) -> String {
    format!("/v1/batches/{batch}/results")
}

/// Starts to follow over a raw connection.
async fn follow(app: &TestApp, batch: &str, headers: &str) -> Raw {
    let mut raw = app.raw().await;
    ask(app, &mut raw, batch, headers).await;
    let head = raw.until("\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("x-accel-buffering: no\r\n"), "{head}");
    raw
}

async fn ask(app: &TestApp, raw: &mut Raw, batch: &str, headers: &str) {
    let (path, key) = (results(batch), app.key());
    let head = format!("GET {path}?follow=true HTTP/1.1\r\nhost: test\r\nx-api-key: {key}\r\n{headers}\r\n");
    raw.send(head).await;
}

/// A batch with requests that ended in another order than they were created: their ids in the order of ends, and one that has not ended.
async fn ended_in_part(app: &TestApp) -> (String, Vec<String>, String) {
    let (batch, _) = app.create_batch(6).await;
    let leases = app.lease_all().await;
    for (place, status) in [(4, RequestStatus::Completed), (0, RequestStatus::Failed)] {
        assert!(app.settle(&leases[place], status).await);
    }
    let mut running = in_status(app, &batch, "in progress").await;
    let cancelled = running.remove(0);
    app.client().post(&format!("/v1/requests/{cancelled}/cancel"), &json!(null)).await.checked(200);
    let mut order = in_status(app, &batch, "completed").await;
    order.extend(in_status(app, &batch, "failed").await);
    order.push(cancelled);
    assert_eq!(order.len(), 3);
    (batch, order, running.remove(0))
}

async fn in_status(app: &TestApp, batch: &str, status: &str) -> Vec<String> {
    let statuses = app.client().get(&format!("/v1/batches/{batch}/requests")).await;
    let lines = statuses.lines().into_iter().filter(|line| line["status"] == status);
    lines.map(|line| line["id"].as_str().expect("an id").to_owned()).collect()
}

/// The ids and data of an answer's events.
fn events(answered: &Answered) -> Vec<(String, String)> {
    assert_eq!(answered.header("content-type"), "text/event-stream");
    assert!(answered.body.is_empty() || answered.body.ends_with(b"\n\n"), "{answered:?}");
    let events = answered.text().split_terminator("\n\n").map(|event| {
        let (id, data) = event.split_once('\n').expect("two lines");
        let (id, data) = (id.strip_prefix("id: "), data.strip_prefix("data: "));
        (id.expect("an id").to_owned(), data.expect("data").to_owned())
    });
    events.collect()
}

#[tokio::test]
async fn a_list_of_ends_goes_on_after_any_of_its_lines() {
    let app = TestApp::start().await;
    let (batch, order, _) = ended_in_part(&app).await;
    let path = results(&batch);
    let in_part = app.client().get(&format!("{path}?after={}", order[0])).await.ids();
    assert_eq!(in_part, order[1..], "what has ended so far");
    assert_eq!(app.client().get(&path).await.ids().len(), 6, "the list in order of arrival is as it was");
    assert_eq!(app.client().get(&format!("{path}?follow=false")).await.ids().len(), 6);
    assert_eq!(app.client().post(&format!("/v1/batches/{batch}/cancel"), &json!(null)).await.status, 200);
    let whole = app.client().get(&format!("{path}?follow=true")).await;
    let (lines, ids) = (whole.text().lines().map(str::to_owned).collect::<Vec<_>>(), whole.ids());
    assert_eq!((ids.len(), &ids[..3]), (6, &order[..]));
    for (place, id) in ids.iter().enumerate() {
        for query in [format!("after={id}"), format!("follow=1&after={id}")] {
            let rest = app.client().get(&format!("{path}?{query}")).await;
            assert_eq!(rest.text().lines().collect::<Vec<_>>(), lines[place + 1..], "{query}");
        }
        let browser = app.client().with("accept", "text/event-stream").with("last-event-id", id);
        let rest = browser.get(&format!("{path}?follow=true&after={}", order[0])).await;
        if place + 1 == ids.len() {
            assert_eq!((rest.status, rest.body), (204, Vec::new()), "a browser connects no more");
            continue;
        }
        let expected: Vec<_> = ids.iter().cloned().zip(lines.iter().cloned()).skip(place + 1).collect();
        assert_eq!(events(&rest), expected, "the header counts");
    }
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_place_in_the_order_of_ends_is_refused_by_its_name() {
    let app = TestApp::start().await;
    let (batch, order, live) = ended_in_part(&app).await;
    let (_, others) = app.create_batch(1).await;
    let path = results(&batch);
    assert_eq!(app.client().delete(&format!("/v1/requests/{}", order[0])).await.status, 200);
    for (id, code) in [
        (order[0].as_str(), "unknown"),
        (&others[0], "unknown"),
        ("req_nonsense", "unknown"),
        ("", "unknown"),
        (&live, "unknown_value"),
    ] {
        for follow in ["", "&follow=true"] {
            let error =
                app.client().get(&format!("{path}?after={id}{follow}")).await.refused(422, "invalid_input");
            let detail = &error["details"][0];
            assert_eq!((&detail["param"], &detail["code"]), (&json!("after"), &json!(code)), "{error}");
            assert!(error["message"].as_str().expect("text").contains(&format!("'{id}'")), "{error}");
        }
    }
    let browser = app.client().with("accept", "text/event-stream").with("last-event-id", &live);
    let error = browser.get(&format!("{path}?follow=true")).await.refused(422, "invalid_input");
    assert_eq!(error["details"][0]["param"], "Last-Event-ID");
    for query in ["follow=maybe", "before=1", "follow=1&follow=1"] {
        app.client().get(&format!("{path}?{query}")).await.refused(422, "invalid_input");
    }
    let exxa = format!("/exxa{path}?follow=true");
    app.client().get(&exxa).await.refused(422, "invalid_input");
    let after = format!("{path}?follow=true&after={}", order[1]);
    app.stranger().get(&after).await.refused(404, "not_found");
    let found = app.client().get(&format!("{path}?after={}", order[1])).await.ids();
    assert_eq!(found, order[2..], "a place stays");
    app.stop().await;
}

#[tokio::test]
async fn each_line_is_sent_as_its_request_ends_and_the_list_closes_with_the_batch() {
    let app = TestApp::start().await;
    let (batch, ids) = app.create_batch(4).await;
    let mut lines = follow(&app, &batch, "").await;
    let mut events = follow(&app, &batch, "accept: text/event-stream\r\n").await;
    let mut seen = String::new();
    for id in &ids[..2] {
        app.client().post(&format!("/v1/requests/{id}/cancel"), &json!(null)).await;
        seen += &lines.until("\n\r\n").await;
        assert!(seen.contains(&format!("{{\"id\":\"{id}\"")), "{seen}");
        let event = events.until("\n\n").await;
        assert!(event.contains(&format!("id: {id}\ndata: {{\"id\":\"{id}\"")), "{event}");
    }
    let leases = app.lease_all().await;
    app.complete(&leases[0]).await;
    seen += &lines.until("\n\r\n").await;
    assert!(seen.contains("\"result_body\":"), "{seen}");
    app.client().post(&format!("/v1/batches/{batch}/cancel"), &json!(null)).await;
    seen += &lines.until(LAST_CHUNK).await;
    let end = events.until(LAST_CHUNK).await;
    for id in &ids {
        assert_eq!(seen.matches(&format!("{{\"id\":\"{id}\"")).count(), 1, "{id} in {seen}");
    }
    assert!(end.contains("id: req_"), "{end}");
    drop((lines, events));
    app.stop().await;
}

#[tokio::test]
async fn those_who_follow_are_cut_when_the_service_stops_and_are_told_no_end() {
    let app = TestApp::start().await;
    let (batch, ids) = app.create_batch(2).await;
    let mut raws =
        vec![follow(&app, &batch, "").await, follow(&app, &batch, "accept: text/event-stream\r\n").await];
    app.client().post(&format!("/v1/requests/{}/cancel", ids[0]), &json!(null)).await;
    for raw in &mut raws {
        raw.until(&ids[0]).await;
    }
    // The clock is stopped, so only the shutdown ends them.
    let (_, rests) = tokio::join!(app.stop(), async { [raws[0].rest().await, raws[1].rest().await] });
    for rest in rests {
        assert!(!rest.ends_with(LAST_CHUNK), "a part was taken for the whole: {rest}");
    }
}

#[tokio::test]
async fn those_who_follow_take_nothing_from_their_accounts_calls() {
    let app =
        TestApp::start_with(&[("limits.calls_per_account", "1"), ("limits.followers_per_account", "1")])
            .await;
    let (batch, _) = app.create_batch(1).await;
    let follower = follow(&app, &batch, "").await;
    for _ in 0..3 {
        assert_eq!(app.client().get("/v1/models").await.status, 200);
    }
    let path = format!("{}?follow=true", results(&batch));
    let refused = app.client().get(&path).await;
    refused.refused(429, "too_many_calls");
    assert_eq!(refused.header("retry-after"), "1");
    app.check_counted(r#"overnight_http_calls_over_share_total{share="followers"}"#).await;
    drop(follower);
    loop {
        let mut raw = app.raw().await;
        ask(&app, &mut raw, &batch, "").await;
        if raw.until("\r\n\r\n").await.starts_with("HTTP/1.1 200 ") {
            break;
        }
    }
    app.check_counted("overnight_http_followers").await;
    app.stop().await;
}

#[tokio::test]
async fn one_to_whom_nothing_happens_is_sent_comments_if_it_reads_events() {
    let (app, clock) = TestApp::start_stepped(&[]).await;
    let (batch, _) = app.create_batch(1).await;
    let mut events = follow(&app, &batch, "accept: text/event-stream\r\n").await;
    let comment = clock.advance_until(Duration::from_secs(16), events.until(":\n\n")).await;
    assert!(!comment.contains("data"), "{comment}");
    drop(events);
    app.stop().await;
}

#[tokio::test]
async fn one_who_reads_nothing_is_broken_off_and_the_others_get_everything() {
    let (app, clock) = TestApp::start_stepped(&[]).await;
    let content = "x".repeat(1 << 20);
    let mut ids = Vec::new();
    for _ in 0..12 {
        ids.push(app.create(&content).await);
    }
    let made = app.client().post("/v1/batches", &json!({"requests_ids": ids})).await.json();
    let batch = made["id"].as_str().expect("an id").to_owned();
    let mut silent = Raw::connect_from("127.0.0.1", app.address, 16 << 10).await;
    ask(&app, &mut silent, &batch, "").await;
    let client = app.client();
    let path = format!("{}?follow=true", results(&batch));
    let honest = tokio::spawn(async move { client.get(&path).await });
    for id in &ids {
        app.client().post(&format!("/v1/requests/{id}/cancel"), &json!(null)).await;
    }
    let mut told = honest.await.expect("an answer").ids();
    told.sort_unstable();
    assert_eq!(told, ids);
    clock.advance_until(Duration::from_secs(61), silent.broken()).await;
    drop(silent);
    app.stop().await;
}
