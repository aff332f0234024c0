//! The API over HTTPS with certificates from files.

use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http2::Builder;
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::support::{Raw, Secured, TestApp, TlsFiles};

const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

const MODELS: &str = "GET /v1/models HTTP/1.1\r\nhost: night.example.com\r\n";

/// Longer than the interval between two checks of the files.
const STEP: Duration = Duration::from_secs(5);

async fn start(files: &TlsFiles, more: &[(&str, &str)]) -> TestApp {
    let settings = files.settings(more);
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    TestApp::start_with(&settings).await
}

/// Calls with the key of the account `test`: the status line and the end of the answer.
async fn models(app: &TestApp, connection: &mut Secured) -> String {
    connection.send(&format!("{MODELS}x-api-key: {}\r\n\r\n", app.key())).await.until("]}").await
}

#[tokio::test]
async fn calls_come_by_https_over_both_versions_of_both_protocols() {
    let files = TlsFiles::new();
    let app = start(&files, &[]).await;
    for mut connection in [files.connect(app.address, &[HTTP1]).await, files.connect_12(app.address).await] {
        assert!(models(&app, &mut connection).await.starts_with("HTTP/1.1 200"));
    }
    let connection = files.connect(app.address, &[HTTP2, HTTP1]).await;
    assert_eq!(connection.protocol(), Some(HTTP2));
    let builder = Builder::new(TokioExecutor::new());
    let (mut sender, connection) = builder.handshake(TokioIo::new(connection.0)).await.unwrap();
    tokio::spawn(connection);
    let request = hyper::Request::get("https://night.example.com/v1/models")
        .header("x-api-key", app.key())
        .body(Empty::<Bytes>::new())
        .unwrap();
    let answer = sender.send_request(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(!answer.into_body().collect().await.unwrap().to_bytes().is_empty());
    app.stop().await;
}

#[tokio::test]
async fn a_call_in_the_open_is_told_to_use_https_and_does_nothing() {
    let files = TlsFiles::new();
    let app = start(&files, &[]).await;
    for client in [app.client(), app.anonymous(), app.client().speaking_http_2()] {
        let body = TestApp::quick_start("hello").to_string();
        let refused = client.send("POST", "/v1/requests", body).await;
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &"https_required".into()));
        assert_eq!(client.get("/livez").await.status, 400);
    }
    let mut connection = files.connect(app.address, &[HTTP1]).await;
    let list = format!("GET /v1/requests HTTP/1.1\r\nhost: n\r\nx-api-key: {}\r\n\r\n", app.key());
    let listed = connection.send(&list).await.until("0\r\n\r\n").await;
    assert!(!listed.contains("\"id\""), "nothing was created:\n{listed}");
    app.stop().await;
}

#[tokio::test]
async fn a_new_certificate_is_served_and_open_connections_go_on() {
    let files = TlsFiles::new();
    let settings = files.settings(&[]);
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (app, clock) = TestApp::start_stepped(&settings).await;
    let mut open = files.connect(app.address, &[HTTP1]).await;
    let first = open.certificate();
    let body = TestApp::quick_start("half of it before").to_string();
    let (half, rest) = body.split_at(20);
    let head = format!(
        "POST /v1/requests HTTP/1.1\r\nhost: n\r\nx-api-key: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{half}",
        app.key(),
        body.len()
    );
    open.send(&head).await;
    // An incomplete file, or one that does not match the other, changes nothing.
    std::fs::write(files.key(), "-----BEGIN PRIVATE KEY-----\n").unwrap();
    for _ in 0..4 {
        clock.advance(STEP);
        assert_eq!(files.connect(app.address, &[HTTP1]).await.certificate(), first);
    }
    files.renew();
    let renewed = async {
        while files.connect(app.address, &[HTTP1]).await.certificate() == first {
            crate::support::pause().await;
        }
    };
    clock.advance_until(STEP, renewed).await;
    let created = open.send(rest).await.until("}").await;
    assert!(created.starts_with("HTTP/1.1 201"), "{created}");
    assert!(models(&app, &mut open).await.starts_with("HTTP/1.1 200"));
    app.stop().await;
}

#[tokio::test]
async fn who_never_finishes_a_handshake_is_let_go() {
    let files = TlsFiles::new();
    let settings = files.settings(&[]);
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (app, clock) = TestApp::start_stepped_impatient(&settings).await;
    for said in ["", "\u{16}", "\u{16}\u{3}\u{1}\u{2}"] {
        let mut silent = Raw::connect(app.address).await;
        silent.send(said).await;
        assert_eq!(clock.advance_until(STEP, silent.rest()).await, "");
    }
    // Nor does an invalid handshake.
    let mut liar = Raw::connect(app.address).await;
    liar.send("\u{16}this is no handshake at all").await.rest().await;
    app.stop().await;
}

#[tokio::test]
async fn probes_are_answered_by_https_where_an_address_holds_its_share() {
    let files = TlsFiles::new();
    // Not a proxy, which may use every connection.
    let settings = [("limits.connections_per_address", "1"), ("console.trusted_proxies", "[]")];
    let app = start(&files, &settings).await;
    let mut holder = files.connect(app.address, &[HTTP1]).await;
    holder.send(&format!("{MODELS}x-api-key: {}\r\ncontent-length: 5\r\n\r\n", app.key())).await;
    let mut probe = files.connect(app.address, &[HTTP2, HTTP1]).await;
    let answered = probe.send("GET /livez HTTP/1.1\r\nhost: n\r\n\r\n").await.until("\r\n\r\n").await;
    assert!(answered.starts_with("HTTP/1.1 200"), "{answered}");
    app.stop().await;
}
