//! Calls that wait, and what ends them.

use std::sync::Arc;
use std::time::Duration;

use overnight_domain::requests::RequestStatus;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{Answered, Client, MODEL, SteppedClock, TestApp, pause};

pub(super) const CHAT: &str = "/openai/v1/chat/completions";

/// What time passes between two looks at what does not come.
const STEP: Duration = Duration::from_millis(200);

/// The smallest body of a chat completion.
pub(super) fn chat(content: &str) -> Value {
    json!({"model": MODEL, "messages": [{"role": "user", "content": content}]})
}

/// The same with more members.
pub(super) fn chat_with(more: &Value) -> Value {
    let mut body = chat("hello");
    for (key, value) in more.as_object().expect("members") {
        body[key] = value.clone();
    }
    body
}

/// A service on a clock that the test moves on.
pub(crate) struct Stage {
    pub(crate) app: TestApp,
    pub(crate) clock: Arc<SteppedClock>,
}

impl Stage {
    pub(crate) async fn start(settings: &[(&str, &str)]) -> Self {
        let (app, clock) = TestApp::start_stepped(settings).await;
        Self { app, clock }
    }

    /// The same, with connections that may be idle for a minute.
    pub(crate) async fn start_impatient() -> Self {
        let (app, clock) = TestApp::start_stepped_impatient(&[]).await;
        Self { app, clock }
    }

    /// Begins a call, which is answered later.
    pub(crate) fn call(client: Client, path: &str, body: &Value) -> JoinHandle<Answered> {
        let (path, body) = (path.to_owned(), body.clone());
        tokio::spawn(async move { client.post(&path, &body).await })
    }

    /// How many requests the account has.
    pub(crate) async fn requests_so_far(&self) -> usize {
        self.app.client().get("/v1/requests").await.ids().len()
    }

    /// The ids of the account's requests, once there are so many.
    pub(crate) async fn requests(&self, count: usize) -> Vec<String> {
        loop {
            let ids = self.app.client().get("/v1/requests").await.ids();
            if ids.len() == count {
                return ids;
            }
            pause().await;
        }
    }

    /// Ends every request of the account, of which there are so many by then.
    pub(crate) async fn end_all(&self, count: usize, status: RequestStatus) {
        self.requests(count).await;
        self.app.settle_all(status).await;
    }

    /// What comes of a call, however long that takes.
    pub(crate) async fn answer(&self, call: JoinHandle<Answered>) -> Answered {
        self.clock.advance_until(STEP, call).await.expect("an answer")
    }
}

/// Checks that it is a refusal as these clients read them; its error.
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
