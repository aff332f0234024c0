//! One call: sent, checked, and repeated if that is safe.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use overnight_wire::native::errors::ErrorEnvelope;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::errors::cut;
use crate::lines::Lines;
use crate::pause::pause;
use crate::retries::{Repeatable, pause_after};
use crate::{Client, Error};

/// Longest error body: room for 1,000 details.
const ERROR_BYTES_MAX: usize = 4 << 20;
/// Maximum excerpt of a foreign answer.
const FOREIGN_CHARS_MAX: usize = 200;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

pub(crate) struct Call {
    method: Method,
    url: Url,
    body: Option<Bytes>,
    key: Option<HeaderValue>,
    repeatable: Repeatable,
    /// Whether the answer should be server-sent events.
    as_events: bool,
}

impl Call {
    pub(crate) fn get(url: Url) -> Self {
        Self::new(Method::GET, url, Repeatable::Always)
    }

    pub(crate) fn events(url: Url) -> Self {
        Self { as_events: true, ..Self::get(url) }
    }

    /// Without a key, a repeat may create another record.
    pub(crate) fn create(url: Url, body: Bytes, key: Option<HeaderValue>) -> Self {
        let repeatable = if key.is_some() { Repeatable::Always } else { Repeatable::IfRefused };
        Self { body: Some(body), key, ..Self::new(Method::POST, url, repeatable) }
    }

    /// Repeated only if nothing was accepted, because the repeat of a successful deletion fails with `not_found`.
    pub(crate) fn delete(url: Url) -> Self {
        Self::new(Method::DELETE, url, Repeatable::IfRefused)
    }

    /// A cancelled request or batch can be cancelled again.
    pub(crate) fn cancel(url: Url) -> Self {
        Self::repeat(url, None)
    }

    /// A call that has no effect when repeated, with or without a key.
    pub(crate) fn repeat(url: Url, key: Option<HeaderValue>) -> Self {
        Self { key, ..Self::new(Method::POST, url, Repeatable::Always) }
    }

    pub(crate) fn set(url: Url, body: Bytes) -> Self {
        Self { body: Some(body), ..Self::repeat(url, None) }
    }

    const fn new(method: Method, url: Url, repeatable: Repeatable) -> Self {
        Self { method, url, body: None, key: None, repeatable, as_events: false }
    }
}

impl Client {
    /// Sends the call and reads its answer, one JSON value.
    pub(crate) async fn answer<T: DeserializeOwned>(&self, call: Call) -> Result<T, Error> {
        let read = async |response: Response| response.bytes().await.map_err(|error| cut(&error));
        let body = self.send(&call, read).await?;
        serde_json::from_slice(&body).map_err(Error::Unreadable)
    }

    /// Sends the call and returns the lines of its answer, unread.
    pub(crate) async fn lines<T: DeserializeOwned>(&self, call: Call) -> Result<Lines<T>, Error> {
        self.open(call).await.map(Lines::new)
    }

    /// Sends the call and returns its answer, unread.
    pub(crate) async fn open(&self, call: Call) -> Result<Response, Error> {
        self.send(&call, async |response| Ok(response)).await
    }

    async fn send<T>(
        &self,
        call: &Call,
        read: impl AsyncFn(Response) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut tries = 0;
        loop {
            let outcome = match self.send_once(call).await {
                Ok(response) => read(response).await,
                Err(error) => Err(error),
            };
            let error = match outcome {
                Ok(answer) => return Ok(answer),
                Err(error) if tries == self.retries => return Err(error),
                Err(error) => error,
            };
            let Some(duration) = pause_after(&error, call.repeatable, tries) else { return Err(error) };
            pause(duration).await;
            tries += 1;
        }
    }

    async fn send_once(&self, call: &Call) -> Result<Response, Error> {
        let mut request = self.http.request(call.method.clone(), call.url.clone());
        if call.as_events {
            request = request.header(ACCEPT, "text/event-stream");
        }
        if let Some(key) = &call.key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        if let Some(body) = &call.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        judge(request.send().await).await
    }

    /// Posts lines without retries.
    pub(crate) async fn post_lines(
        &self,
        url: Url,
        key: HeaderValue,
        body: Bytes,
    ) -> Result<Response, Error> {
        let request = self.http.post(url).header(IDEMPOTENCY_KEY, key);
        judge(request.header(CONTENT_TYPE, "application/x-ndjson").body(body).send().await).await
    }
}

pub(crate) fn to_json(value: &impl Serialize) -> Result<Bytes, Error> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|error| Error::Invalid(error.to_string()))
}

async fn judge(answer: reqwest::Result<Response>) -> Result<Response, Error> {
    let response = answer.map_err(Error::Transport)?;
    if response.status().is_success() { Ok(response) } else { Err(refusal(response).await) }
}

async fn refusal(mut response: Response) -> Error {
    let status = response.status().as_u16();
    let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = header.and_then(|seconds| seconds.trim().parse().ok()).map(Duration::from_secs);
    let mut body = BytesMut::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > ERROR_BYTES_MAX {
            break;
        }
    }
    match serde_json::from_slice::<ErrorEnvelope>(&body) {
        Ok(envelope) => Error::Api { status, error: Box::new(envelope.error), retry_after },
        Err(_) => {
            let text = String::from_utf8_lossy(&body);
            Error::Foreign { status, text: text.chars().take(FOREIGN_CHARS_MAX).collect() }
        }
    }
}
