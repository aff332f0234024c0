//! An HTTP/1.1 client that shows the whole answer.

use std::net::SocketAddr;

use axum::body::Bytes;
use axum::http::response::Parts;
use axum::http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::TestApp;

#[derive(Clone)]
pub(crate) struct Client {
    http: legacy::Client<HttpConnector, Full<Bytes>>,
    base: String,
    headers: Vec<(String, String)>,
}

#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, key: Option<&str>) -> Self {
        let http = legacy::Client::builder(TokioExecutor::new()).build_http();
        let headers = key.map(|key| ("x-api-key".to_owned(), key.to_owned())).into_iter().collect();
        Self { http, base: format!("http://{address}"), headers }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same client, with HTTP/2 from the first byte.
    pub(crate) fn speaking_http_2(mut self) -> Self {
        self.http = legacy::Client::builder(TokioExecutor::new()).http2_only(true).build_http();
        self
    }

    /// The answer; `None` if the connection breaks.
    pub(crate) async fn try_get(&self, path: &str) -> Option<Answered> {
        self.try_send("GET", path, Bytes::new()).await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: impl Into<Bytes>) -> Answered {
        self.try_send(method, path, body.into()).await.expect("an answer")
    }

    /// The status of an answer and the length of its body, which is not kept.
    pub(crate) async fn drain(&self, path: &str) -> (u16, usize) {
        let (parts, mut body) = self.begin("GET", path, Bytes::new()).await.expect("an answer");
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            bytes += frame.expect("a frame").data_ref().map_or(0, Bytes::len);
        }
        (parts.status.as_u16(), bytes)
    }

    async fn try_send(&self, method: &str, path: &str, body: Bytes) -> Option<Answered> {
        let (parts, body) = self.begin(method, path, body).await?;
        let body = body.collect().await.ok()?.to_bytes().to_vec();
        Some(Answered { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    async fn begin(&self, method: &str, path: &str, body: Bytes) -> Option<(Parts, Incoming)> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(body)).expect("a request");
        Some(self.http.request(request).await.ok()?.into_parts())
    }

    pub(crate) async fn get(&self, path: &str) -> Answered {
        self.send("GET", path, "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answered {
        self.send("POST", path, body.to_string()).await
    }

    /// The JSON of an answer with status 200.
    pub(crate) async fn read(&self, path: &str) -> Value {
        self.get(path).await.checked(200).json()
    }

    /// Posts and returns the JSON of an answer with this status.
    pub(crate) async fn call(&self, path: &str, body: &Value, status: u16) -> Value {
        self.post(path, body).await.checked(status).json()
    }

    pub(crate) async fn delete(&self, path: &str) -> Answered {
        self.send("DELETE", path, "").await
    }

    pub(crate) async fn cancel(&self, path: &str) -> Answered {
        self.send("POST", &format!("{path}/cancel"), "").await
    }

    /// Returns its id.
    pub(crate) async fn create(&self, content: &str) -> String {
        self.create_of(&TestApp::quick_start(content)).await
    }

    /// Returns its id.
    pub(crate) async fn create_of(&self, body: &Value) -> String {
        self.post("/v1/requests", body).await.checked(201).id()
    }

    /// Returns its id.
    pub(crate) async fn group(&self, ids: &[String]) -> String {
        self.post("/v1/batches", &json!({"requests_ids": ids})).await.checked(201).id()
    }

    pub(crate) async fn record(&self, id: &str) -> Value {
        self.read(&format!("/v1/requests/{id}")).await[0].take()
    }
}

impl Answered {
    #[track_caller]
    pub(crate) fn checked(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}: {self:?}", String::from_utf8_lossy(&self.body));
        self
    }

    #[track_caller]
    pub(crate) fn shows(&self, part: &str) -> &Self {
        assert!(self.text().contains(part), "{part:?} is not in: {}", self.text());
        self
    }

    #[track_caller]
    pub(crate) fn lacks(&self, part: &str) -> &Self {
        assert!(!self.text().contains(part), "{part:?} is in: {}", self.text());
        self
    }

    /// The `id` of the object, which may be the only element of an array.
    #[track_caller]
    pub(crate) fn id(&self) -> String {
        let json = self.json();
        let object = json.get(0).unwrap_or(&json);
        object["id"].as_str().unwrap_or_else(|| panic!("no id: {json}")).to_owned()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// One value for each line; every line must end in a line break.
    pub(crate) fn lines(&self) -> Vec<Value> {
        assert_eq!(self.header("content-type"), "application/x-ndjson");
        assert!(self.body.is_empty() || self.body.ends_with(b"\n"), "{self:?}");
        self.text().lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.lines().iter().map(|line| line["id"].as_str().expect("an id").to_owned()).collect()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    /// Checks the status, the code and the form of a refusal.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        let envelope = self.json();
        let error = &envelope["error"];
        assert_eq!(error["code"], code, "{error}");
        for key in ["message", "type", "code", "request_id"] {
            assert!(error[key].as_str().is_some_and(|text| !text.is_empty()), "{key} in {error}");
        }
        assert!(error["details"].is_array(), "{error}");
        assert!(error.get("param").is_some(), "{error}");
        assert_eq!(error["request_id"], self.header("x-request-id"));
        assert!(self.header("x-request-id").starts_with("call_"));
        assert_eq!(self.header("content-type"), "application/json");
        assert_eq!(self.header("content-length"), self.body.len().to_string());
        error.clone()
    }
}
