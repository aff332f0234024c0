//! Many requests in few calls: bodies are sent in windows, and bodies without an answer are sent again.

mod window;

use std::fmt;

use bytes::Bytes;
use futures_util::stream::{self, Fuse};
use futures_util::{FutureExt, Stream, StreamExt};
use overnight_wire::native::bulk::{BulkLine, LineCreated, LineRefused};
use overnight_wire::native::errors::ErrorBody;
use overnight_wire::native::requests::RequestCreated;
use reqwest::Url;
use reqwest::header::HeaderValue;
use sha2::{Digest, Sha256};

use self::window::Window;
use crate::lines::RawLines;
use crate::pause::pause;
use crate::retries::{Repeatable, pause_after};
use crate::{Client, Error};

/// The outcome of one body.
#[derive(Debug)]
#[non_exhaustive]
pub struct BulkOutcome {
    /// Its position among the bodies, from 1.
    pub line: u64,
    /// The request, or [`Error::Api`] with the status that Create Request would have.
    pub created: Result<RequestCreated, Error>,
}

/// The outcomes of a bulk create, in the order of the bodies. A call carries at most 1,024 bodies and 1 MiB, or one longer body; only they
/// are in memory.
///
/// An answer must have the digest of its body, so a proxy that changes bodies cannot change an outcome. Bodies without an answer are sent
/// again; with the idempotency key, no request is created twice.
pub struct Bulk<S> {
    client: Client,
    url: Url,
    key: String,
    bodies: Fuse<S>,
    window: Window,
    /// The answers to the current window, once it is sent.
    answers: Option<RawLines>,
    strays: Vec<String>,
    is_over: bool,
    /// Calls that failed since the last outcome.
    failed: u32,
}

impl<S: Stream<Item = Result<Bytes, Error>> + Unpin> Bulk<S> {
    pub(crate) fn new(client: Client, url: Url, key: String, bodies: S) -> Self {
        let (bodies, window, strays) = (bodies.fuse(), Window::default(), Vec::new());
        Self { client, url, key, bodies, window, answers: None, strays, is_over: false, failed: 0 }
    }

    /// The next outcome; `None` after the last. An error ends the list: whether later bodies were accepted is unknown until the same bodies
    /// are sent again with the same key.
    pub async fn next(&mut self) -> Option<Result<BulkOutcome, Error>> {
        if self.is_over {
            return None;
        }
        let outcome = self.read().await.transpose();
        self.is_over = !matches!(outcome, Some(Ok(_)));
        outcome
    }

    /// The outcomes as a stream.
    pub fn outcomes(&mut self) -> impl Stream<Item = Result<BulkOutcome, Error>> {
        stream::unfold(self, async |bulk| Some((bulk.next().await?, bulk)))
    }

    /// Requests that the service created from lines that this client did not send: something in between changed bodies.
    pub fn strays(&self) -> &[String] {
        &self.strays
    }

    async fn read(&mut self) -> Result<Option<BulkOutcome>, Error> {
        loop {
            let error = match self.try_read().await {
                Ok(outcome) => return Ok(outcome),
                Err(error) => error,
            };
            let wait = pause_after(&error, Repeatable::Always, self.failed);
            let Some(wait) = wait.filter(|_| self.failed < self.client.retries) else {
                return Err(error);
            };
            self.answers = None;
            self.failed += 1;
            pause(wait).await;
        }
    }

    async fn try_read(&mut self) -> Result<Option<BulkOutcome>, Error> {
        loop {
            let Some(answers) = &mut self.answers else {
                self.fill().await?;
                if self.window.is_empty() {
                    return Ok(None);
                }
                let key = derive_key(&self.key, self.window.segment())?;
                let answer = self.client.post_lines(self.url.clone(), key, self.window.content()).await?;
                self.answers = Some(RawLines::new(answer));
                continue;
            };
            match answers.next().await.transpose()? {
                Some(line) => {
                    if let Some(outcome) = self.take(&line)? {
                        return Ok(Some(outcome));
                    }
                }
                None if self.window.is_empty() => self.answers = None,
                None => return Err(Error::Cut("the answer lacks lines".to_owned())),
            }
        }
    }

    /// Reads available bodies into an empty window.
    async fn fill(&mut self) -> Result<(), Error> {
        if !self.window.is_empty() {
            return Ok(());
        }
        self.window.begin();
        while self.window.has_room() {
            let body = match self.window.is_empty() {
                true => self.bodies.next().await,
                false => self.bodies.next().now_or_never().flatten(),
            };
            let Some(body) = body else { break };
            self.window.push(body?);
        }
        Ok(())
    }

    /// Reads an answer; `None` if it belongs to no line of the window.
    fn take(&mut self, line: &[u8]) -> Result<Option<BulkOutcome>, Error> {
        let (sha256, created) = match serde_json::from_slice(line).map_err(Error::Unreadable)? {
            BulkLine::Created(LineCreated { sha256, request, .. }) => (sha256, Ok(request)),
            BulkLine::Refused(LineRefused { sha256, error, .. }) => (sha256, Err(refused(error))),
        };
        if let Err(error @ Error::Api { status: 429 | 503, .. }) = created {
            return Err(error);
        }
        let Some(line) = self.window.answered(&sha256) else {
            self.strays.extend(created.ok().map(|request| request.id));
            return Ok(None);
        };
        self.failed = 0;
        Ok(Some(BulkOutcome { line, created }))
    }
}

/// The idempotency key of a segment, derived from the caller's key.
fn derive_key(key: &str, segment: u64) -> Result<HeaderValue, Error> {
    let key = format!("{:x}", Sha256::digest(format!("{key}\n{segment}")));
    HeaderValue::try_from(key).map_err(|error| Error::Invalid(error.to_string()))
}

impl<S> fmt::Debug for Bulk<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Bulk").field("failed", &self.failed).finish_non_exhaustive()
    }
}

/// A refused line as the error of a single Create Request.
fn refused(error: ErrorBody) -> Error {
    let status = match (error.kind.as_str(), error.code.as_str()) {
        ("authentication_error", _) => 401,
        ("billing_error", _) => 402,
        ("rate_limit_error", _) => 429,
        (_, "too_large") => 413,
        (_, "unavailable") => 503,
        ("server_error", _) => 500,
        _ => 422,
    };
    Error::Api { status, error: Box::new(error), retry_after: None }
}
