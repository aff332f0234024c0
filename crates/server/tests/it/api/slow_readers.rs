//! Clients that read responses slowly or not at all.

use std::time::Duration;

use axum::http::StatusCode;
use futures_util::future::join_all;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;

use crate::support::{AGES, Http2, Raw, SteppedClock, TestApp, pause};

const LIST: &str = "/v1/requests?full=true";
const RECORDS: usize = 12;
const RECORD_BYTES: usize = 1 << 20;

/// Longer than the services of these tests wait for a client that reads nothing.
const LONG: Duration = Duration::from_secs(61);

/// Shorter than that, but longer than half of it.
const SHORT: Duration = Duration::from_secs(50);

/// Bytes that a client reads between two short waits: more than fit into the connection's buffers.
const PIECE_BYTES: usize = 1 << 20;

async fn start(settings: &[(&str, &str)]) -> (TestApp, std::sync::Arc<SteppedClock>) {
    let (app, clock) = TestApp::start_stepped(settings).await;
    let content = "x".repeat(RECORD_BYTES);
    for _ in 0..RECORDS {
        app.create(&content).await;
    }
    (app, clock)
}

async fn raw_list(app: &TestApp) -> Raw {
    let mut raw = Raw::connect_from("127.0.0.1", app.address, 16 << 10).await;
    let head =
        format!("GET {LIST} HTTP/1.1\r\nhost: test\r\nconnection: close\r\nx-api-key: {}\r\n\r\n", app.key());
    raw.send(head).await;
    raw
}

#[tokio::test]
async fn a_connection_whose_client_reads_nothing_is_broken_off() {
    let (app, clock) = start(&[]).await;
    let raw = raw_list(&app).await;
    clock.advance_until(LONG, raw.broken()).await;
    app.stop().await;
}

/// Returns once the account `test`, which may have one call, has none.
async fn no_call(app: &TestApp) {
    while app.client().get("/v1/models").await.status != 200 {
        pause().await;
    }
}

#[tokio::test]
async fn a_stream_whose_client_reads_nothing_is_reset_and_the_others_go_on() {
    let (app, clock) = start(&[("limits.calls_per_account", "1")]).await;
    let client = Http2::connect(&app, 16 << 10).await;
    let list = client.get(LIST).await.expect("an answer").into_body();
    let livez = client.get("/livez").await.expect("an answer");
    assert_eq!(livez.collect().await.expect("a body").to_bytes(), "{\"status\":\"ok\"}");
    clock.advance_until(LONG, no_call(&app)).await;
    assert!(list.collect().await.is_err(), "a part was taken for the whole");
    app.check_counted(r#"overnight_http_responses_stalled_total{cut="stream"}"#).await;
    assert_eq!(client.get("/livez").await.expect("an answer").status(), 200);
    app.stop().await;
}

#[tokio::test]
async fn a_response_that_waits_whole_is_reset_too() {
    let (app, clock) = start(&[("limits.calls_per_account", "1")]).await;
    let id = app.client().get("/v1/requests?limit=1").await.ids().remove(0);
    let client = Http2::connect(&app, 1).await;
    let record = client.get(&format!("/v1/requests/{id}")).await.expect("an answer").into_body();
    clock.advance_until(LONG, no_call(&app)).await;
    assert!(record.collect().await.is_err(), "a part was taken for the whole");
    app.stop().await;
}

#[tokio::test]
async fn a_slow_reader_gets_its_whole_list() {
    let (app, clock) = start(&[]).await;
    let whole = app.client().get(LIST).await;
    let mut raw = raw_list(&app).await;
    let client = Http2::connect(&app, 16 << 10).await;
    let mut body = client.get(LIST).await.expect("an answer").into_body();
    let mut taken = Vec::new();
    for _ in 0..whole.body.len() / PIECE_BYTES {
        raw.take(PIECE_BYTES).await;
        let enough = taken.len() + PIECE_BYTES;
        while taken.len() < enough {
            let frame = body.frame().await.expect("more").expect("an open stream");
            taken.extend_from_slice(&frame.into_data().expect("data"));
        }
        clock.advance(SHORT);
    }
    taken.extend_from_slice(&body.collect().await.expect("the rest").to_bytes());
    assert!(taken == whole.body, "the list is another one");
    assert!(raw.rest().await.ends_with("\r\n0\r\n\r\n"), "the list was cut");
    app.stop().await;
}

#[tokio::test]
async fn lists_that_nobody_reads_hold_their_accounts_memory_and_no_more() {
    let (app, clock) = start(&[("limits.response_buffer", "64 MiB")]).await;
    let mut client = Http2::connect(&app, 0).await;
    let lists = join_all((0..80).map(|_| client.get(LIST)));
    let stranger = app.stranger();
    stranger.create("of a stranger").await;
    // Lists that wait for memory are refused after a while.
    let answers = clock.advance_until(Duration::from_secs(1), lists).await;
    let answers: Vec<Response<Incoming>> = answers.into_iter().map(|it| it.expect("an answer")).collect();
    let of = |status| answers.iter().filter(|answer| answer.status() == status).count();
    // A page is two records of 1 MiB, plus a sixteenth to read the next one; the share is 16 MiB.
    assert!((1..=8).contains(&of(StatusCode::OK)), "{} lists were begun", of(StatusCode::OK));
    assert_eq!(of(StatusCode::OK) + of(StatusCode::SERVICE_UNAVAILABLE), 80);
    assert_eq!(stranger.get(LIST).await.ids().len(), 1);
    // A response that the client does not read is reset, and the connection is closed when it is idle.
    clock.advance_until(AGES, client.closed()).await;
    drop(answers);
    assert_eq!(app.client().get(LIST).await.ids().len(), RECORDS);
    app.stop().await;
}

#[tokio::test]
async fn a_connection_without_a_call_is_closed() {
    let (app, clock) = TestApp::start_stepped(&[]).await;
    let mut client = Http2::connect(&app, 16 << 10).await;
    assert_eq!(client.get("/livez").await.expect("an answer").status(), 200);
    clock.advance_until(AGES, client.closed()).await;
    app.stop().await;
}
