//! Bulk creates.

use std::collections::BTreeSet;
use std::time::Duration;

use overnight_wire::native::bulk::LineDigest;
use serde_json::{Value, json};

use crate::support::{Answered, Client, Raw, TestApp, pause};

const LINES: &str = "application/x-ndjson";

fn lines_client(app: &TestApp) -> Client {
    app.client().with("content-type", LINES)
}

fn line(content: &str) -> String {
    TestApp::quick_start(content).to_string()
}

async fn send(client: &Client, body: impl Into<axum::body::Bytes>) -> Answered {
    client.send("POST", "/v1/requests", body).await.checked(200)
}

fn numbers(answered: &Answered) -> Vec<u64> {
    answered.lines().iter().map(|line| line["line"].as_u64().expect("a number")).collect()
}

/// Sends the head of a bulk create with a chunked body.
async fn begin(app: &TestApp, from: &str, window: u32) -> Raw {
    begin_with(app, from, window, "transfer-encoding: chunked\r\n").await
}

async fn begin_with(app: &TestApp, from: &str, window: u32, headers: &str) -> Raw {
    let mut raw = Raw::connect_from(from, app.address, window).await;
    let head = format!(
        "POST /v1/requests HTTP/1.1\r\nhost: test\r\nx-api-key: {}\r\ncontent-type: {LINES}\r\n\
         connection: close\r\n{headers}\r\n",
        app.key()
    );
    raw.send(head).await;
    raw
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

#[tokio::test]
async fn each_line_makes_a_request_and_is_answered_in_its_order() {
    let app = TestApp::start().await;
    let all: Vec<String> = (0..2_000).map(|number| line(&format!("request {number}"))).collect();
    let answered = send(&lines_client(&app), all.join("\n")).await;
    assert_eq!(numbers(&answered), (1..=2_000).collect::<Vec<_>>());
    let ids = answered.ids();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 2_000);
    for place in [0, 999, 1_999] {
        let answer = &answered.lines()[place];
        let found = (&answer["status"], answer.as_object().expect("an object").len());
        assert_eq!(found, (&json!("registered"), 6));
        let record = app.client().get(&format!("/v1/requests/{}", ids[place])).await.json();
        assert_eq!(record[0]["request_body"]["messages"][0]["content"], format!("request {place}"));
        assert_eq!(record[0]["expires_at"], answer["expires_at"]);
        assert_eq!(answer["sha256"], LineDigest::of(all[place].as_bytes()));
    }
    app.complete_all().await;
    app.stop().await;
}

#[tokio::test]
async fn a_bad_line_is_answered_with_its_error_and_the_others_go_in() {
    let app = TestApp::start_with(&[("limits.request_body", "64 KiB")]).await;
    let long = line(&"x".repeat(70_000));
    let body = [
        line("first"),
        "{".to_owned(),
        "  ".to_owned(),
        json!({"request_body": {"messages": [], "temperature": 9}}).to_string(),
        long,
        format!("{}\r", line("sixth")),
        String::new(),
        line("eighth"),
    ];
    let answered = send(&lines_client(&app), body.join("\n") + "\n").await;
    assert_eq!(numbers(&answered), [1, 2, 4, 5, 6, 8]);
    let lines = answered.lines();
    let code = |place: usize| lines[place]["error"]["code"].as_str();
    let codes: Vec<_> = (0..6).map(code).collect();
    assert_eq!(codes, [None, Some("invalid_input"), Some("invalid_input"), Some("too_large"), None, None]);
    assert_eq!(lines[3]["error"]["message"], "the line must be at most 65536 bytes");
    for (answer, place) in lines.iter().zip([0, 1, 3, 4, 5, 7]) {
        assert_eq!(answer["sha256"], LineDigest::of(body[place].as_bytes()), "{place}");
    }
    let model = &lines[2]["error"];
    assert_eq!(model["request_id"], answered.header("x-request-id"));
    assert!(model["details"].as_array().is_some_and(|details| details.len() > 1), "{model}");
    assert_eq!(app.client().get("/v1/requests").await.lines().len(), 3);
    app.stop().await;
}

#[tokio::test]
async fn lines_are_answered_while_others_are_still_to_come() {
    let app = TestApp::start().await;
    let mut raw = begin(&app, "127.0.0.1", 1 << 16).await;
    raw.send(chunk(&format!("{}\n{}", line("first"), &line("second")[..9]))).await;
    let answer = raw.until("\"line\":1").await;
    assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains("\"line\":2"), "{answer}");
    raw.send(chunk(&format!("{}\n", &line("second")[9..]))).await;
    raw.until("\"line\":2").await;
    raw.send("0\r\n\r\n").await;
    assert!(raw.rest().await.ends_with("0\r\n\r\n"), "the answer ends as a whole");
    app.stop().await;
}

#[tokio::test]
async fn a_body_is_asked_for_before_its_answer_begins() {
    let app = TestApp::start().await;
    for framing in ["transfer-encoding: chunked", "content-length: 2000000"] {
        let headers = format!("{framing}\r\nexpect: 100-continue\r\n");
        let mut raw = begin_with(&app, "127.0.0.1", 1 << 16, &headers).await;
        assert_eq!(raw.until("\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
        let first = format!("{}\n", line("first"));
        raw.send(if framing.contains("chunked") { chunk(&first) } else { first }).await;
        assert!(raw.until("\"line\":1").await.starts_with("HTTP/1.1 200"));
    }
    app.stop().await;
}

#[tokio::test]
async fn a_short_body_and_one_through_a_proxy_have_ended_before_they_are_answered() {
    let app = TestApp::start().await;
    let (first, second) = (format!("{}\n", line("first")), format!("{}\n", line("second")));
    let length = format!("content-length: {}\r\n", first.len() + second.len());
    let proxies = ["x-forwarded-for: 192.0.2.7", "via: 1.1 proxy", "forwarded: proto=https"];
    let chunked = |proxy| format!("transfer-encoding: chunked\r\n{proxy}\r\n");
    for (number, headers) in [length].into_iter().chain(proxies.map(chunked)).enumerate() {
        let is_chunked = headers.contains("chunked");
        let framed = |text: &str| if is_chunked { chunk(text) } else { text.to_owned() };
        let mut raw = begin_with(&app, "127.0.0.1", 1 << 16, &headers).await;
        raw.send(framed(&first)).await;
        while app.client().get("/v1/requests").await.lines().len() < 2 * number + 1 {
            pause().await;
        }
        for _ in 0..50 {
            pause().await;
            assert!(!raw.has_more(), "{headers}");
        }
        raw.send(framed(&second)).await.send(if is_chunked { "0\r\n\r\n" } else { "" }).await;
        let answer = raw.rest().await;
        assert!(answer.contains("\"line\":1") && answer.contains("\"line\":2"), "{answer}");
    }
    app.stop().await;
}

#[tokio::test]
async fn answers_that_fill_the_memory_of_their_account_begin_before_the_body_has_ended() {
    let app = TestApp::start_with(&[("limits.response_buffer", "16 MiB")]).await;
    let headers = "transfer-encoding: chunked\r\nx-forwarded-for: 192.0.2.7\r\n";
    let mut raw = begin_with(&app, "127.0.0.1", 1 << 16, headers).await;
    raw.send(chunk(&"{\n".repeat(20_000))).await;
    raw.until("\"line\":100,").await;
    raw.send("0\r\n\r\n").await;
    assert!(raw.rest().await.contains("\"line\":20000,"));
    app.stop().await;
}

#[tokio::test]
async fn a_body_that_breaks_off_leaves_what_was_answered_and_no_part_of_a_line() {
    let app = TestApp::start().await;
    let mut raw = begin(&app, "127.0.0.1", 1 << 16).await;
    // The received part of the last line could be read as a complete one.
    raw.send(chunk(&format!("{}\n{}", line("first"), line("second")))).await;
    raw.until("\"line\":1").await;
    drop(raw);
    let mut again = begin(&app, "127.0.0.1", 1 << 16).await;
    again.send(chunk(&line("third"))).await.send("0\r\n\r\n").await;
    again.rest().await;
    assert_eq!(app.client().get("/v1/requests").await.lines().len(), 2);
    app.stop().await;
}

#[tokio::test]
async fn what_is_sent_again_with_its_key_answers_the_first_ids_and_takes_in_the_rest() {
    let app = TestApp::start().await;
    let client = lines_client(&app).with("idempotency-key", "import-7");
    let all: Vec<String> = (0..50).map(|number| line(&format!("request {number}"))).collect();
    let first = send(&client, all[..30].join("\n")).await;
    let again = send(&client, all.join("\n")).await;
    assert_eq!(again.lines()[..30], first.lines());
    assert_eq!(numbers(&again), (1..=50).collect::<Vec<_>>());
    assert_eq!(app.client().get("/v1/requests").await.lines().len(), 50);
    let mut other = all.clone();
    other[3] = line("another");
    let reused = send(&client, other.join("\n")).await.lines();
    assert_eq!(reused[3]["error"]["code"], "idempotency_key_reused");
    assert!(reused.iter().enumerate().all(|(place, line)| place == 3 || line["error"] == Value::Null));
    app.stop().await;
}

#[tokio::test]
async fn lines_wait_where_their_account_may_create_no_more_in_a_second() {
    let settings = [("quotas.requests_per_second", "1")];
    let (app, clock) = TestApp::start_stepped(&settings).await;
    let client = lines_client(&app);
    let body = (0..14).map(|number| line(&number.to_string())).collect::<Vec<_>>().join("\n");
    let answered = clock.advance_until(Duration::from_secs(20), send(&client, body)).await;
    assert!(answered.lines().iter().all(|line| line["error"] == Value::Null), "{}", answered.text());
    assert_eq!(answered.lines().len(), 14);
    app.stop().await;
}

/// Sends lines forever and reads no answer.
async fn flood(mut raw: Raw, lines: String) {
    let many = chunk(&lines);
    loop {
        raw.push(many.as_bytes()).await;
        pause().await;
    }
}

#[tokio::test]
async fn accounts_that_read_no_answers_keep_nothing_from_others() {
    let app = TestApp::start_with(&[("limits.response_buffer", "16 MiB")]).await;
    let mut floods = tokio::task::JoinSet::new();
    for place in 0..12 {
        // Waits use shared resources: memory, readers (a refused line with a key is looked up), places for long texts.
        let key = if place % 2 == 0 { format!("idempotency-key: k{place}\r\n") } else { String::new() };
        let lines = match place % 3 {
            0 => format!("{}\n", " {".repeat(35_000)).repeat(4),
            _ => "{\n".repeat(8_000),
        };
        let headers = format!("transfer-encoding: chunked\r\n{key}");
        floods.spawn(flood(begin_with(&app, "127.0.0.2", 4 << 10, &headers).await, lines));
    }
    let stranger = app.stranger();
    for number in 0..60 {
        let content = if number % 10 == 0 { "x".repeat(80_000) } else { number.to_string() };
        let created = stranger.create(&content).await;
        assert_eq!(stranger.get(&format!("/v1/requests/{created}")).await.status, 200);
    }
    assert_eq!(stranger.get("/v1/requests").await.lines().len(), 60);
    floods.shutdown().await;
    app.stop().await;
}

#[tokio::test]
async fn bulk_creates_beside_each_other_fill_no_queue() {
    let app = TestApp::start().await;
    let body = (0..3_000).map(|number| line(&number.to_string())).collect::<Vec<_>>().join("\n");
    let client = lines_client(&app);
    let answers = futures_util::future::join_all((0..4).map(|_| send(&client, body.clone()))).await;
    for answered in answers {
        assert_eq!(answered.ids().len(), 3_000);
    }
    app.stop().await;
}

#[tokio::test]
async fn of_many_faults_of_a_line_the_first_are_told_and_all_are_counted() {
    let app = TestApp::start().await;
    let messages = vec![json!({"role": "nobody", "content": 1}); 50];
    let bad = json!({"request_body": {"model": "none", "messages": messages}}).to_string();
    let answered = send(&lines_client(&app), bad).await.lines();
    let error = &answered[0]["error"];
    assert_eq!(error["details"].as_array().map(Vec::len), Some(20));
    assert!(error["details_total"].as_u64().is_some_and(|total| total > 50), "{error}");
    app.stop().await;
}

#[tokio::test]
async fn lines_are_taken_where_requests_are_created_and_nowhere_else() {
    let app = TestApp::start().await;
    let client = lines_client(&app);
    client.send("POST", "/v1/batches", "{}").await.refused(415, "unsupported_media_type");
    let compressed = lines_client(&app).with("content-encoding", "gzip");
    compressed.send("POST", "/v1/requests", "{}").await.refused(415, "unsupported_media_type");
    client.send("POST", "/v1/requests?full=1", "{}").await.refused(422, "invalid_input");
    app.anonymous()
        .with("content-type", LINES)
        .send("POST", "/v1/requests", "{}")
        .await
        .refused(401, "invalid_api_key");
    assert_eq!(send(&client, "").await.text(), "");
    assert_eq!(send(&client, "\n\n").await.text(), "");
    app.stop().await;
}

#[tokio::test]
async fn an_account_has_sixteen_bulk_creates_under_way_and_its_other_calls_go_on() {
    let app = TestApp::start().await;
    let mut open = Vec::new();
    for _ in 0..16 {
        let mut raw = begin(&app, "127.0.0.1", 1 << 16).await;
        raw.send(chunk(&(line("x") + "\n"))).await.until("\"line\":1").await;
        open.push(raw);
    }
    lines_client(&app).send("POST", "/v1/requests", line("y")).await.refused(429, "too_many_calls");
    app.create("a single one").await;
    let stranger = app.stranger().with("content-type", LINES);
    assert_eq!(numbers(&send(&stranger, line("z")).await), [1]);
    let first = open.first_mut().expect("a call");
    first.send("0\r\n\r\n").await.rest().await;
    assert_eq!(numbers(&send(&lines_client(&app), line("y")).await), [1]);
    drop(open);
    app.stop().await;
}
