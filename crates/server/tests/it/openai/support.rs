//! Calls that wait, and their ends.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{Answered, Client, MODEL, SteppedClock, TestApp, pause};

pub(super) const CHAT: &str = "/openai/v1/chat/completions";

/// The clock's step between two checks.
const STEP: Duration = Duration::from_millis(200);

pub(super) fn chat(content: &str) -> Value {
    json!({"model": MODEL, "messages": [{"role": "user", "content": content}]})
}

pub(super) fn chat_with(more: &Value) -> Value {
    let mut body = chat("hello");
    for (key, value) in more.as_object().expect("members") {
        body[key] = value.clone();
    }
    body
}

/// A service on a clock under the test's control.
pub(crate) struct Stage {
    pub(crate) app: TestApp,
    pub(crate) clock: Arc<SteppedClock>,
}

impl Stage {
    pub(crate) async fn start(settings: &[(&str, &str)]) -> Self {
        let (app, clock) = TestApp::start_stepped(settings).await;
        Self { app, clock }
    }

    /// The same, with an idle time-out of one minute.
    pub(crate) async fn start_impatient() -> Self {
        let (app, clock) = TestApp::start_stepped_impatient(&[]).await;
        Self { app, clock }
    }

    /// Starts a call without waiting for its answer.
    pub(crate) fn call(client: Client, path: &str, body: &Value) -> JoinHandle<Answered> {
        let (path, body) = (path.to_owned(), body.clone());
        tokio::spawn(async move { client.post(&path, &body).await })
    }

    pub(crate) async fn requests_so_far(&self) -> usize {
        self.app.client().get("/v1/requests").await.ids().len()
    }

    /// The ids of the account's requests, once there are `count`.
    pub(crate) async fn requests(&self, count: usize) -> Vec<String> {
        requests(&self.app.client(), count).await
    }

    /// Completes all requests of the account, once there are `count`.
    pub(crate) async fn complete_all(&self, count: usize) {
        self.requests(count).await;
        self.app.complete_all().await;
    }

    pub(crate) async fn fail_all(&self, count: usize) {
        self.requests(count).await;
        self.app.fail_all().await;
    }

    /// The answer to a call whose request completes, as do all others.
    pub(crate) async fn completed(&self, path: &str, body: &Value) -> Answered {
        let count = self.requests_so_far().await + 1;
        let call = Self::call(self.app.client(), path, body);
        self.complete_all(count).await;
        self.answer(call).await
    }

    /// The same, but they fail.
    pub(crate) async fn failed(&self, path: &str, body: &Value) -> Answered {
        let count = self.requests_so_far().await + 1;
        let call = Self::call(self.app.client(), path, body);
        self.fail_all(count).await;
        self.answer(call).await
    }

    /// The answer to a call, after any length of time.
    pub(crate) async fn answer(&self, call: JoinHandle<Answered>) -> Answered {
        self.clock.advance_until(STEP, call).await.expect("an answer")
    }
}

/// The ids of an account's requests, once there are `count`.
pub(super) async fn requests(client: &Client, count: usize) -> Vec<String> {
    loop {
        let ids = client.get("/v1/requests").await.ids();
        if ids.len() == count {
            return ids;
        }
        pause().await;
    }
}

/// Checks a refusal in OpenAI's form and returns its error.
#[track_caller]
pub(super) fn refused(answered: &Answered, status: u16, code: &str) -> Value {
    assert_eq!(answered.status, status, "{}", answered.text());
    let error = answered.json()["error"].clone();
    let members: Vec<&str> = error.as_object().expect("an error").keys().map(String::as_str).collect();
    assert_eq!(members, ["message", "type", "param", "code"]);
    assert_eq!(error["code"], code, "{error}");
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
    assert!(answered.header("x-request-id").starts_with("call_"));
    assert_eq!(answered.header("content-type"), "application/json");
    error
}
