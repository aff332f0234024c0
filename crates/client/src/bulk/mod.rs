//! Many requests over one connection: bodies go while their outcomes come.

mod connection;
mod window;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Fuse};
use futures_util::{Stream, StreamExt};
use overnight_wire::native::bulk::{BulkLine, LineCreated, LineRefused};
use overnight_wire::native::errors::ErrorBody;
use overnight_wire::native::requests::RequestCreated;
use reqwest::Url;
use reqwest::header::HeaderValue;
use serde::de::Error as _;

use self::connection::Connection;
use self::window::Window;
use crate::pause::pause;
use crate::retries::{Repeatable, pause_after};
use crate::{Client, Error};

/// The service begins its answer at once. Where none begins while as many bodies wait as may, they do not reach it.
const HELD_BACK_AFTER: Duration = Duration::from_secs(2);

/// What became of one body.
#[derive(Debug)]
#[non_exhaustive]
pub struct BulkOutcome {
    /// Its place among the bodies, from 1.
    pub line: u64,
    /// The request, or [`Error::Api`] with the status of the same refusal to a call of its own.
    pub created: Result<RequestCreated, Error>,
}

/// The outcomes of a bulk create, in the order of the bodies. At most 1,024 bodies that are not answered, of 1 MiB together or one
/// longer one, are in memory.
///
/// Where the connection breaks, or the service has too much to do, it goes on behind the last outcome on another connection: with the
/// idempotency key, what was taken in without an answer is not created again. Where a proxy reads a body whole before it passes it on, the bodies
/// go over several connections, one after the other.
pub struct Bulk<S> {
    client: Client,
    url: Url,
    key: HeaderValue,
    bodies: Fuse<S>,
    window: Window,
    state: State,
    /// Whether a proxy in between holds a body back until it is whole: then bodies are sent by parts.
    is_held_back: bool,
    /// Connections that broke since the last outcome.
    broken: u32,
}

enum State {
    Apart,
    Connected(Connection),
    Over,
}

/// What comes next.
enum Step {
    Answered(Option<Bytes>),
    Body(Option<Bytes>),
    Sent,
    HeldBack,
}

impl<S: Stream<Item = Result<Bytes, Error>> + Unpin> Bulk<S> {
    pub(crate) fn new(client: Client, url: Url, key: HeaderValue, bodies: S) -> Self {
        let (bodies, window) = (bodies.fuse(), Window::default());
        Self { client, url, key, bodies, window, state: State::Apart, is_held_back: false, broken: 0 }
    }

    /// The next outcome; `None` once every body has one. After an error it is over: which bodies behind the last outcome were taken in
    /// is not known, until the same bodies are sent again with the same key.
    pub async fn next(&mut self) -> Option<Result<BulkOutcome, Error>> {
        let outcome = self.read().await.transpose();
        if !matches!(outcome, Some(Ok(_))) {
            self.state = State::Over;
        }
        outcome
    }

    /// The outcomes as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<BulkOutcome, Error>> {
        stream::unfold(self, async |mut bulk| Some((bulk.next().await?, bulk)))
    }

    async fn read(&mut self) -> Result<Option<BulkOutcome>, Error> {
        loop {
            let error = match self.try_read().await {
                Ok(outcome) => return Ok(outcome),
                Err(error) => error,
            };
            // What is under way is sent again with the same key.
            let wait = pause_after(&error, Repeatable::Always, self.broken);
            let Some(wait) = wait.filter(|_| self.broken < self.client.retries) else {
                return Err(error);
            };
            self.state = State::Apart;
            self.broken += 1;
            pause(wait).await;
        }
    }

    async fn try_read(&mut self) -> Result<Option<BulkOutcome>, Error> {
        loop {
            let connection = match &mut self.state {
                State::Over => return Ok(None),
                State::Connected(connection) => connection,
                State::Apart if self.window.is_empty() => {
                    // A service closes a connection on which nothing comes: it is made when there is something.
                    match self.bodies.next().await.transpose()? {
                        Some(body) => self.window.push(body),
                        None => return Ok(None),
                    }
                    continue;
                }
                State::Apart => {
                    let (client, key) = (self.client.clone(), self.key.clone());
                    self.state = State::Connected(Connection::begin(client, self.url.clone(), key));
                    self.window.rewind();
                    continue;
                }
            };
            let is_full = !self.bodies.is_done() && self.window.is_full();
            if self.window.is_sent() && (self.bodies.is_done() || is_full && self.is_held_back) {
                connection.body.end();
            }
            let is_waited_for = is_full && !self.is_held_back && connection.answer.is_awaited();
            let step = tokio::select! {
                biased;
                line = connection.answer.next() => Step::Answered(line?),
                body = self.bodies.next(), if !self.bodies.is_done() && self.window.has_room() => {
                    Step::Body(body.transpose()?)
                }
                () = connection.body.send(&mut self.window), if !self.window.is_sent() => Step::Sent,
                () = pause(HELD_BACK_AFTER), if is_waited_for => Step::HeldBack,
            };
            match step {
                Step::Answered(Some(line)) => return self.take(&line).map(Some),
                Step::Answered(None) if connection.body.has_ended() && !self.window.is_under_way() => {
                    self.state = State::Apart;
                }
                Step::Answered(None) => {
                    return Err(Error::Cut("the answer ended before its last line".to_owned()));
                }
                Step::Body(Some(body)) => self.window.push(body),
                Step::HeldBack => self.is_held_back = true,
                Step::Body(None) | Step::Sent => {}
            }
        }
    }

    /// Reads the answer to the first body that has none.
    fn take(&mut self, line: &[u8]) -> Result<BulkOutcome, Error> {
        let (line, created) = match serde_json::from_slice(line).map_err(Error::Unreadable)? {
            BulkLine::Created(LineCreated { line, request }) => (line, Ok(request)),
            BulkLine::Refused(LineRefused { line, error }) => (line, Err(refused(error))),
        };
        if let Err(error @ Error::Api { status: 429 | 503, .. }) = created {
            return Err(error);
        }
        if self.window.answered() != Some(line) {
            return Err(Error::Unreadable(serde_json::Error::custom("the answer is to another line")));
        }
        self.broken = 0;
        Ok(BulkOutcome { line, created })
    }
}

impl<S> fmt::Debug for Bulk<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Bulk").field("broken", &self.broken).finish_non_exhaustive()
    }
}

/// The refusal of a line as that of a call of its own.
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
