//! Fair shares between clients: connections, calls, and the health paths.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Client, Raw, TestApp};

const LIVEZ: &str = "GET /livez HTTP/1.1\r\nhost: test\r\n\r\n";
const WINDOW: u32 = 64 << 10;

/// A service without trusted proxies on this machine.
async fn start(settings: &[(&str, &str)]) -> TestApp {
    let mut settings = settings.to_vec();
    settings.push(("console.trusted_proxies", "[]"));
    TestApp::start_with(&settings).await
}

async fn connect(app: &TestApp, from: &str) -> Raw {
    Raw::connect_from(from, app.address, WINDOW).await
}

fn get_models(app: &TestApp) -> String {
    format!("GET /v1/models HTTP/1.1\r\nhost: test\r\nx-api-key: {}\r\n\r\n", app.key())
}

/// A create whose body is incomplete.
struct Unfinished {
    raw: Raw,
    rest: String,
}

impl Unfinished {
    async fn begin(app: &TestApp, from: &str) -> Self {
        let mut announced = Self::announce(app, from, "unfinished").await;
        announced.is_asked_for().await;
        announced
    }

    /// Sends the head of a create that expects `100 Continue`.
    async fn announce(app: &TestApp, from: &str, content: &str) -> Self {
        let body = TestApp::quick_start(content).to_string();
        let mut raw = connect(app, from).await;
        let head = format!("POST /v1/requests HTTP/1.1\r\nhost: test\r\nx-api-key: {}\r\n", app.key());
        raw.send(format!("{head}expect: 100-continue\r\ncontent-length: {}\r\n\r\n", body.len())).await;
        Self { raw, rest: body }
    }

    /// The call has begun once the service asks for its body.
    async fn is_asked_for(&mut self) {
        assert!(self.raw.until("\r\n\r\n").await.starts_with("HTTP/1.1 100 "));
    }

    async fn finish(mut self) {
        self.raw.send(&self.rest).await;
        assert!(self.raw.until("registered").await.starts_with("HTTP/1.1 201 "));
    }
}

fn refusal<'a>(answer: &'a str, status: &str) -> (&'a str, Value) {
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    assert!(head.starts_with(&format!("HTTP/1.1 {status} ")) && head.contains("retry-after: 1"), "{answer}");
    (head, serde_json::from_str::<Value>(body).expect("JSON")["error"].clone())
}

#[tokio::test]
async fn idle_connections_that_fill_the_limit_keep_nobody_out() {
    let app = start(&[("limits.connections", "16")]).await;
    let mut idle = Vec::new();
    for round in 0..2 {
        for _ in 0..16 {
            let mut raw = connect(&app, "127.0.0.1").await;
            raw.send(LIVEZ).await;
            raw.until("ok").await;
            idle.push(raw);
        }
        let mut probe = connect(&app, "127.0.0.1").await;
        assert!(probe.send(LIVEZ).await.until("ok").await.starts_with("HTTP/1.1 200 "), "round {round}");
    }
    let mut honest = connect(&app, "127.0.0.2").await;
    honest.send(get_models(&app)).await;
    honest.until("other").await;
    // The call keeps its place, however many calls from other addresses follow.
    for _ in 0..32 {
        let mut raw = connect(&app, "127.0.0.1").await;
        raw.send(LIVEZ).await;
        raw.until("ok").await;
        idle.push(raw);
    }
    honest.send(get_models(&app)).await;
    assert!(honest.until("other").await.starts_with("HTTP/1.1 200 "));
    app.stop().await;
}

#[tokio::test]
async fn no_more_connections_are_open_than_the_limit() {
    let app = start(&[("limits.connections", "2")]).await;
    let calls = [Unfinished::begin(&app, "127.0.0.1").await, Unfinished::begin(&app, "127.0.0.2").await];
    for from in ["127.0.0.1", "127.0.0.2", "127.0.0.3"] {
        let refused = connect(&app, from).await.send(get_models(&app)).await.rest().await;
        let (head, error) = refusal(&refused, "503");
        assert!(head.contains("connection: close"), "{head}");
        assert_eq!(error["code"], "unavailable", "{error}");
        for path in ["/livez", "/readyz/"] {
            let probe = format!("GET {path} HTTP/1.1\r\nhost: test\r\n\r\n");
            let answered = connect(&app, from).await.send(probe).await.rest().await;
            assert!(answered.starts_with("HTTP/1.1 200 "), "{from} {path}: {answered}");
        }
    }
    for call in calls {
        call.finish().await;
    }
    app.check_counted(r#"overnight_http_connections_crowded_total{limit="process"}"#).await;
    assert!(
        connect(&app, "127.0.0.3").await.send(get_models(&app)).await.until("other").await.contains(" 200 ")
    );
    app.stop().await;
}

/// A form that never ends.
async fn slow_form(app: &TestApp, from: &str) -> Raw {
    let mut raw = connect(app, from).await;
    let head = "POST /console/sign-in HTTP/1.1\r\nsec-fetch-site: same-origin\r\nexpect: 100-continue\r\n\
        content-type: application/x-www-form-urlencoded\r\ncontent-length: 100\r\n";
    raw.send(format!("{head}host: 127.0.0.1:8080\r\n\r\n")).await;
    assert!(raw.until("\r\n\r\n").await.starts_with("HTTP/1.1 100 "));
    raw
}

#[tokio::test]
async fn calls_without_a_key_that_fill_the_limit_keep_nobody_out() {
    let app = start(&[("limits.connections", "4")]).await;
    let call = Unfinished::begin(&app, "127.0.0.1").await;
    let mut first = slow_form(&app, "127.0.0.2").await;
    let forms = [slow_form(&app, "127.0.0.2").await, slow_form(&app, "127.0.0.3").await];
    let honest = Unfinished::begin(&app, "127.0.0.4").await;
    assert_eq!(first.rest().await, "");
    // More such forms: each replaces an earlier one.
    let more = [slow_form(&app, "127.0.0.2").await, slow_form(&app, "127.0.0.5").await];
    call.finish().await;
    honest.finish().await;
    drop((forms, more));
    app.check_counted("overnight_http_connections_cut_total").await;
    app.stop().await;
}

#[tokio::test]
async fn one_address_has_no_more_connections_than_its_part() {
    let app = start(&[("limits.connections_per_address", "2")]).await;
    let calls = [Unfinished::begin(&app, "127.0.0.1").await, Unfinished::begin(&app, "127.0.0.1").await];
    let refused = connect(&app, "127.0.0.1").await.send(get_models(&app)).await.rest().await;
    assert_eq!(refusal(&refused, "503").1["code"], "unavailable");
    let mut other = connect(&app, "127.0.0.2").await;
    assert!(other.send(get_models(&app)).await.until("other").await.starts_with("HTTP/1.1 200 "));
    for call in calls {
        call.finish().await;
    }
    app.stop().await;
}

#[tokio::test]
async fn a_trusted_proxy_may_have_every_connection() {
    let app = TestApp::start_with(&[("limits.connections_per_address", "1")]).await;
    let calls = [Unfinished::begin(&app, "127.0.0.1").await, Unfinished::begin(&app, "127.0.0.1").await];
    for call in calls {
        call.finish().await;
    }
    app.stop().await;
}

#[tokio::test]
async fn the_calls_of_one_account_leave_those_of_another() {
    let app = start(&[("limits.calls_per_account", "2")]).await;
    let mut calls =
        vec![Unfinished::begin(&app, "127.0.0.1").await, Unfinished::begin(&app, "127.0.0.2").await];
    let refused = app.client().get("/v1/models").await;
    let error = refused.refused(429, "too_many_calls");
    assert_eq!((&error["type"], refused.header("retry-after")), (&"rate_limit_error".into(), "1"));
    assert_eq!(app.stranger().get("/v1/models").await.status, 200);
    assert_eq!(app.anonymous().get("/docs").await.status, 200);
    app.check_counted(r#"overnight_http_calls_over_share_total{share="calls"}"#).await;
    calls.pop().expect("a call").finish().await;
    assert_eq!(app.client().get("/v1/models").await.status, 200);
    calls.pop().expect("a call").finish().await;
    app.stop().await;
}

#[tokio::test]
async fn calls_of_an_address_keep_no_probe_out_that_has_the_same() {
    let settings = [
        ("limits.calls_per_account", "1"),
        ("metrics_listen", "127.0.0.1:0"),
        ("console.trusted_proxies", "[]"),
    ];
    let app = TestApp::start_with(&settings).await;
    let form = slow_form(&app, "127.0.0.1").await;
    assert_eq!(app.anonymous().get("/docs").await.status, 429);
    let prober = Client::new(app.metrics_address.expect("an address"), None);
    assert_eq!(prober.get("/metrics").await.status, 200);
    drop(form);
    app.stop().await;
}

#[tokio::test]
async fn bodies_that_do_not_come_hold_their_accounts_memory_and_no_more() {
    let app = start(&[("limits.request_buffer", "16 MiB")]).await;
    let large = "a".repeat(1 << 20);
    let mut unfinished = Vec::new();
    for _ in 0..3 {
        let mut announced = Unfinished::announce(&app, "127.0.0.1", &large).await;
        announced.is_asked_for().await;
        unfinished.push(announced);
    }
    let mut waiting = Unfinished::announce(&app, "127.0.0.2", &large).await;
    // Small bodies need no place, and another account has its own.
    app.create("small").await;
    app.stranger().create(&large).await;
    // A call that ends makes room for a waiting one.
    unfinished.pop().expect("a call");
    waiting.is_asked_for().await;
    waiting.finish().await;
    for call in unfinished {
        call.finish().await;
    }
    app.stop().await;
}

#[tokio::test]
async fn a_body_that_finds_no_memory_is_refused_after_a_while() {
    let (app, clock) = TestApp::start_stepped(&[("limits.request_buffer", "16 MiB")]).await;
    let large = "a".repeat(4 << 20);
    let mut unfinished = Unfinished::announce(&app, "127.0.0.1", &large).await;
    unfinished.is_asked_for().await;
    let mut waiting = Unfinished::announce(&app, "127.0.0.1", &large).await;
    let refused = clock.advance_until(Duration::from_secs(1), waiting.raw.rest()).await;
    let (_, error) = refusal(&refused, "503");
    assert_eq!(error["code"], "unavailable", "{error}");
    unfinished.finish().await;
    app.stop().await;
}

#[tokio::test]
async fn probes_may_ask_where_clients_do_not_come() {
    let app = TestApp::start_with(&[("metrics_listen", "127.0.0.1:0")]).await;
    let address: SocketAddr = app.metrics_address.expect("an address");
    let prober = Client::new(address, None);
    for (path, status) in [("/livez", 200), ("/readyz", 200), ("/metrics", 200), ("/v1/models", 401)] {
        assert_eq!(prober.get(path).await.status, status, "{path}");
    }
    app.stop().await;
}
