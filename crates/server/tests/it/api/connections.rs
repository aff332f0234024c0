//! Misbehaving clients.

use crate::support::{Raw, TestApp};

const NINE_MEBIBYTES: usize = 9 << 20;

fn head(app: &TestApp, path: &str, more: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: test\r\nx-api-key: {}\r\n{more}\r\n", app.key())
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_and_the_answer_arrives() {
    let app = TestApp::start().await;
    for path in ["/v1/requests", "/v1/batches"] {
        let announced = app.client().send("POST", path, vec![b' '; NINE_MEBIBYTES]).await;
        let error = announced.refused(413, "too_large");
        assert_eq!(error["message"], "the body must be at most 8388608 bytes");
    }
    let mut raw = app.raw().await;
    raw.send(head(&app, "/v1/requests", "transfer-encoding: chunked\r\nconnection: close\r\n")).await;
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(1 << 20));
    for _ in 0..9 {
        raw.send(&chunk).await;
    }
    raw.send("0\r\n\r\n").await;
    let answer = raw.rest().await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("too_large"), "{answer}");
    app.stop().await;
}

#[tokio::test]
async fn a_refused_body_is_read_to_its_end_so_that_the_connection_goes_on() {
    let app = TestApp::start().await;
    let mut raw = app.raw().await;
    let body = "x".repeat(NINE_MEBIBYTES);
    for _ in 0..2 {
        raw.send(head(&app, "/v1/requests", &format!("content-length: {NINE_MEBIBYTES}\r\n"))).await;
        raw.send(&body).await;
        let answer = raw.until("\"request_id\"").await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    }
    raw.send(head(&app, "/v1/requests", "content-encoding: gzip\r\ncontent-length: 500000\r\n")).await;
    raw.send(&body[..500_000]).await;
    assert!(raw.until("\"request_id\"").await.starts_with("HTTP/1.1 415 "));
    let ignored =
        format!("POST /v1/nothing HTTP/1.1\r\nhost: test\r\ncontent-length: {NINE_MEBIBYTES}\r\n\r\n");
    raw.send(ignored + &body).await;
    assert!(raw.until("\"request_id\"").await.starts_with("HTTP/1.1 401 "));
    assert_eq!(app.client().get("/livez").await.status, 200);
    app.stop().await;
}

#[tokio::test]
async fn a_body_without_end_is_not_read_for_ever() {
    let app = TestApp::start().await;
    let mut raw = app.raw().await;
    raw.send(head(&app, "/v1/requests", "content-length: 1000000000000\r\n")).await;
    let piece = vec![b' '; 1 << 20];
    for _ in 0..40 {
        raw.push(&piece).await;
    }
    raw.rest().await;
    assert_eq!(app.client().get("/v1/models").await.status, 200);
    app.stop().await;
}

#[tokio::test]
async fn a_client_that_waits_to_be_asked_for_its_body_is_refused_before_it_sends_one() {
    let app = TestApp::start().await;
    let expects = "expect: 100-continue\r\n";
    let mut raw = app.raw().await;
    raw.send(head(&app, "/v1/requests", &format!("{expects}content-length: {NINE_MEBIBYTES}\r\n"))).await;
    let answer = raw.rest().await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");

    let body = TestApp::quick_start("asked for").to_string();
    let mut raw = app.raw().await;
    raw.send(head(&app, "/v1/requests", &format!("{expects}content-length: {}\r\n", body.len()))).await;
    assert!(raw.until("\r\n\r\n").await.starts_with("HTTP/1.1 100 "));
    raw.send(&body).await;
    assert!(raw.until("registered").await.starts_with("HTTP/1.1 201 "));
    app.stop().await;
}

#[tokio::test]
async fn who_stalls_is_let_go() {
    let app = TestApp::start_hasty().await;
    for silence in ["", "P", "POST", "POST /v1/requests HTTP/1.1\r\nx-api", "PRI * HTTP/2.0\r\n"] {
        let mut raw = app.raw().await;
        raw.send(silence).await;
        raw.rest().await;
    }
    for stalled in [
        head(&app, "/v1/requests", "content-length: 100\r\n") + "{",
        head(&app, "/v1/requests", "transfer-encoding: chunked\r\n") + "5\r\n{",
        head(&app, "/v1/requests", "content-length: 100\r\n"),
    ] {
        let mut raw = app.raw().await;
        raw.send(&stalled).await;
        let answer = raw.rest().await;
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("request_timeout"), "{answer}");
    }
    // Refused immediately, and closed once the client stops sending.
    let mut raw = app.raw().await;
    raw.send(head(&app, "/v1/requests", "content-length: 9999999\r\n") + "{").await;
    assert!(raw.rest().await.starts_with("HTTP/1.1 413 "));
    app.stop().await;
}

#[tokio::test]
async fn connection_that_had_an_answer_stays_idle_for_longer_than_a_silent_one() {
    let app = TestApp::start_hasty().await;
    let mut raw = app.raw().await;
    for _ in 0..2 {
        raw.send("GET /livez HTTP/1.1\r\nhost: test\r\n\r\n").await;
        assert!(raw.until("\"ok\"}").await.starts_with("HTTP/1.1 200 "));
        #[expect(
            clippy::disallowed_methods,
            reason = "a proxy sends nothing for a while on the machine's clock"
        )]
        tokio::time::sleep(std::time::Duration::from_millis(900)).await;
    }
    app.stop().await;
}

#[tokio::test]
async fn a_body_that_trickles_has_a_last_moment_too() {
    let app = TestApp::start_hasty().await;
    let mut raw = app.raw().await;
    raw.send(head(&app, "/v1/requests", "content-length: 1000\r\n")).await;
    for _ in 0..20 {
        raw.push(b" ").await;
        #[expect(clippy::disallowed_methods, reason = "the test sends slowly on the machine's clock")]
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(raw.rest().await.starts_with("HTTP/1.1 408 "));
    app.stop().await;
}

#[tokio::test]
async fn heads_that_are_too_long_or_no_http_are_refused() {
    let app = TestApp::start().await;
    let many: String = (0..65).map(|place| format!("x-{place}: 1\r\n")).collect();
    let long = format!("x-long: {}\r\n", "y".repeat(20 << 10));
    for (head, status) in [
        (head(&app, "/v1/requests", &many), "431"),
        (head(&app, "/v1/requests", &long), "431"),
        (head(&app, &format!("/{}", "z".repeat(20 << 10)), ""), "4"),
        ("NONSENSE\r\n\r\n".to_owned(), "400"),
        ("GET /\u{0} HTTP/1.1\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nhost: a\r\nbad header\r\n\r\n".to_owned(), "400"),
        ("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n".to_owned(), "400"),
    ] {
        let mut raw = app.raw().await;
        raw.push(head.as_bytes()).await;
        let answer = raw.rest().await;
        let is_refused = answer.is_empty() || answer.starts_with(&format!("HTTP/1.1 {status}"));
        assert!(is_refused, "{status}: {answer}");
    }
    app.stop().await;
}

#[tokio::test]
async fn headers_that_come_twice_are_refused() {
    let app = TestApp::start().await;
    for name in ["host", "origin", "sec-fetch-site", "authorization", "x-api-key", "content-type"] {
        let twice = format!("host: a\r\n{name}: b\r\n{name}: b\r\n").replacen("host: a\r\nhost", "host", 1);
        for path in ["/console/sign-in", "/v1/requests", "/livez"] {
            let sent = format!("GET {path} HTTP/1.1\r\n{twice}\r\n");
            let answer = app.raw().await.send(sent).await.until("\"request_id\"").await;
            assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("invalid_headers"), "{answer}");
            assert!(answer.contains(&format!("`{name}` must not be repeated")), "{answer}");
        }
    }
    let http_2 = app.client().speaking_http_2();
    http_2.get("/v1/models").await.checked(200);
    http_2.clone().with("x-api-key", app.key()).get("/v1/models").await.refused(400, "invalid_headers");
    // Headers that are lists may come in several lines.
    app.client().with("accept", "text/html").with("accept", "text/css").get("/v1/models").await.checked(200);
    app.stop().await;
}

#[tokio::test]
async fn calls_without_host_are_refused_over_http_1_1_only() {
    let app = TestApp::start().await;
    for path in ["/livez", "/v1/models"] {
        let answer =
            app.raw().await.send(format!("GET {path} HTTP/1.1\r\n\r\n")).await.until("\"request_id\"").await;
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("header `host`"), "{answer}");
    }
    // As HAProxy and others ask for the health.
    let answer = app.raw().await.send("GET /readyz HTTP/1.0\r\n\r\n").await.rest().await;
    assert!(answer.starts_with("HTTP/1.0 200 "), "{answer}");
    app.stop().await;
}

#[tokio::test]
async fn calls_sent_ahead_are_answered_in_order() {
    let app = TestApp::start().await;
    let body = TestApp::quick_start("ahead").to_string();
    let create = head(&app, "/v1/requests", &format!("content-length: {}\r\n", body.len())) + &body;
    let get = |path: &str, more: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: test\r\nx-api-key: {}\r\n{more}\r\n", app.key())
    };
    let mut raw = app.raw().await;
    raw.send(create.clone() + &create + &get("/v1/nothing", "") + &get("/livez", "connection: close\r\n"))
        .await;
    let answers = raw.rest().await;
    let statuses: Vec<_> =
        answers.match_indices("HTTP/1.1 ").map(|(at, _)| &answers[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["201", "201", "404", "200"]);
    app.stop().await;
}

#[tokio::test]
async fn odd_targets_are_refused_politely() {
    let app = TestApp::start().await;
    for target in ["OPTIONS *", "CONNECT example.com:443", "GET http://example.com/v1/models"] {
        let mut raw = app.raw().await;
        raw.send(format!("{target} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n")).await;
        let answer = raw.rest().await;
        assert!(answer.starts_with("HTTP/1.1 4") && answer.contains("request_id"), "{target}: {answer}");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_call_under_way_is_answered_when_the_server_stops() {
    let app = TestApp::start().await;
    let body = TestApp::quick_start("last").to_string();
    let mut raw: Raw = app.raw().await;
    raw.send(head(&app, "/v1/requests", &format!("content-length: {}\r\n", body.len()))).await;
    raw.send(&body[..10]).await;
    let mut idle = app.raw().await;
    idle.send("GET /livez HTTP/1.1\r\nhost: test\r\n\r\n").await;
    idle.until("ok").await;
    let stopping = tokio::spawn(app.stop());
    idle.rest().await;
    raw.send(&body[10..]).await;
    assert!(raw.rest().await.starts_with("HTTP/1.1 201 "));
    stopping.await.expect("a clean stop");
}

#[tokio::test]
async fn http_2_is_spoken_to_those_who_begin_with_it() {
    let app = TestApp::start().await;
    let client = app.client().speaking_http_2();
    let creates = (0..150).map(|place| {
        let client = client.clone();
        tokio::spawn(async move { client.create(&format!("{place}")).await })
    });
    for create in creates.collect::<Vec<_>>() {
        create.await.expect("a create");
    }
    assert_eq!(client.get("/v1/requests").await.ids().len(), 150);
    client.get("/v1/nothing").await.refused(404, "not_found");
    let long = client.clone().with("x-long", &"y".repeat(20 << 10)).try_get("/livez").await;
    assert!(long.is_none_or(|answered| answered.status == 431));
    let too_large = client.send("POST", "/v1/requests", vec![b' '; NINE_MEBIBYTES]).await;
    too_large.refused(413, "too_large");
    app.stop().await;
}
