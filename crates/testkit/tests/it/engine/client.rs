//! A client for the tests, and waits with time-outs.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use hyper::{HeaderMap, Request, Uri};
use hyper_util::client::legacy::{Client as Pooled, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use overnight_testkit::engine::SimEngine;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[derive(Clone)]
pub(super) struct Client {
    pooled: Pooled<HttpConnector, Full<Bytes>>,
    base_url: String,
    key: Option<&'static str>,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(super) fn content(&self) -> String {
        self.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    }

    pub(super) fn retry_after(&self) -> Option<&str> {
        self.headers.get(RETRY_AFTER)?.to_str().ok()
    }
}

impl Client {
    pub(super) fn of(engine: &SimEngine) -> Self {
        let pooled = Pooled::builder(TokioExecutor::new()).build_http();
        Self { pooled, base_url: engine.base_url(), key: None }
    }

    pub(super) fn with_key(mut self, key: &'static str) -> Self {
        self.key = Some(key);
        self
    }

    /// Asks for a completion of one user message. The error describes the connection.
    pub(super) async fn ask(&self, content: &str) -> Result<Answer, String> {
        self.chat(&json!({"model": "sim-model", "messages": [{"role": "user", "content": content}]})).await
    }

    pub(super) async fn chat(&self, body: &Value) -> Result<Answer, String> {
        self.send("POST", "/chat/completions", body.to_string()).await
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, String::new()).await.unwrap()
    }

    pub(super) async fn send(&self, method: &str, path: &str, body: String) -> Result<Answer, String> {
        let base = if path.starts_with("/health") || path.starts_with("/metrics") {
            self.base_url.trim_end_matches("/v1")
        } else {
            &self.base_url
        };
        let uri: Uri = format!("{base}{path}").parse().unwrap();
        let mut request = Request::builder().method(method).uri(uri).header(CONTENT_TYPE, "application/json");
        if let Some(key) = self.key {
            request = request.header(AUTHORIZATION, format!("Bearer {key}"));
        }
        let request = request.body(Full::from(body)).unwrap();
        let response = self.pooled.request(request).await.map_err(|error| format!("{error:?}"))?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| format!("{error:?}"))?.to_bytes();
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }
}

/// Sends a raw completion request and reads until the connection ends: its answer, and how it ended.
pub(super) async fn ask_raw(engine: &SimEngine, content: &str) -> (String, std::io::Result<()>) {
    let mut stream = TcpStream::connect(engine.address()).await.unwrap();
    stream.write_all(raw_request(content).as_bytes()).await.unwrap();
    let mut received = Vec::new();
    let ended = stream.read_to_end(&mut received).await.map(|_| ());
    (String::from_utf8(received).unwrap(), ended)
}

pub(super) fn raw_request(content: &str) -> String {
    let body = json!({"model": "sim-model", "messages": [{"role": "user", "content": content}]}).to_string();
    format!("POST /v1/chat/completions HTTP/1.1\r\nhost: sim\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Panics after ten seconds.
pub(super) async fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        pause(5).await;
    }
    panic!("the condition did not come to hold");
}

#[expect(clippy::disallowed_methods, reason = "the engine under test lives in real time")]
pub(super) async fn pause(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

/// Panics after ten seconds.
pub(super) async fn in_time<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(10), future).await.unwrap()
}

/// Asks, waits until the engine has `in_flight` requests, and disconnects.
pub(super) async fn ask_and_leave(engine: &SimEngine, content: &str, in_flight: u64) {
    let (client, content) = (Client::of(engine), content.to_owned());
    let asked = tokio::spawn(async move { client.ask(&content).await });
    until(|| engine.counters().in_flight == in_flight).await;
    asked.abort();
    assert!(asked.await.unwrap_err().is_cancelled());
}
