//! Results of a batch as its requests end.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, stream};
use overnight_wire::native::requests::FullRequest;
use reqwest::StatusCode;

use crate::lines::RawLines;
use crate::pause::pause;
use crate::retries::{Repeatable, pause_after};
use crate::send::Call;
use crate::{Client, Error};

/// The requests of a batch in the order in which they end, each once, until all have ended. After a broken or silent connection, it
/// reconnects and continues after the last request read.
pub struct Following {
    client: Client,
    batch: String,
    after: Option<String>,
    state: State,
    broken: u32,
}

enum State {
    Apart {
        /// The last connection ended after a complete request, so all may have ended.
        may_be_over: bool,
    },
    Connected {
        lines: RawLines,
        /// Whether this connection has returned a request.
        has_read: bool,
    },
    Over,
}

#[derive(Default)]
struct Event {
    id: Option<String>,
    data: Option<Bytes>,
}

impl Client {
    /// Follows the results of a batch from the first, or after the ended request `after`. The request is sent by the first call of `next`.
    ///
    /// Requests that are deleted meanwhile are left out. If the last request read is deleted before a connection breaks, the list ends in
    /// [`Error::Api`] with `invalid_input`.
    pub fn follow_batch_results(&self, id: &str, after: Option<&str>) -> Following {
        Following {
            client: self.clone(),
            batch: id.to_owned(),
            after: after.map(str::to_owned),
            state: State::Apart { may_be_over: false },
            broken: 0,
        }
    }
}

impl Following {
    /// The next ended request; `None` once all have ended. An error ends the list.
    pub async fn next(&mut self) -> Option<Result<FullRequest, Error>> {
        let record = self.next_raw().await?;
        Some(record.and_then(|record| serde_json::from_slice(&record).map_err(Error::Unreadable)))
    }

    /// The same, as JSON from the service.
    pub async fn next_raw(&mut self) -> Option<Result<Bytes, Error>> {
        let outcome = self.read().await.transpose();
        if !matches!(outcome, Some(Ok(_))) {
            self.state = State::Over;
        }
        outcome
    }

    /// The last request read, with which another call can continue.
    pub fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// The requests as a stream.
    pub fn into_stream(self) -> Pin<Box<dyn Stream<Item = Result<FullRequest, Error>> + Send>> {
        Box::pin(stream::unfold(self, async |mut following| Some((following.next().await?, following))))
    }

    async fn read(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let (lines, has_read) = match &mut self.state {
                State::Over => return Ok(None),
                State::Connected { lines, has_read } => (lines, has_read),
                State::Apart { may_be_over } => {
                    let may_be_over = *may_be_over;
                    self.state = self.connect(may_be_over).await?;
                    continue;
                }
            };
            let error = match read_event(lines).await {
                Ok(Some((id, data))) => {
                    *has_read = true;
                    (self.after, self.broken) = (Some(id), 0);
                    return Ok(Some(data));
                }
                // A proxy that loses the service ends its answer the same way; only the service knows whether that is all.
                Ok(None) if *has_read => {
                    self.state = State::Apart { may_be_over: true };
                    continue;
                }
                Ok(None) => Error::Cut("it ended without a request".to_owned()),
                Err(error) => error,
            };
            let wait = pause_after(&error, Repeatable::Always, self.broken);
            let Some(wait) = wait.filter(|_| self.broken < self.client.retries) else {
                return Err(error);
            };
            self.broken += 1;
            pause(wait).await;
            self.state = State::Apart { may_be_over: false };
        }
    }

    async fn connect(&mut self, may_be_over: bool) -> Result<State, Error> {
        let parameters = [("follow", Some("true".to_owned())), ("after", self.after.clone())];
        let url = self.client.url_with(&["v1", "batches", &self.batch, "results"], parameters)?;
        match self.client.open(Call::events(url)).await {
            Ok(response) if response.status() == StatusCode::NO_CONTENT => Ok(State::Over),
            Ok(response) => Ok(State::Connected { lines: RawLines::new(response), has_read: false }),
            // The last request read, or the whole batch, was deleted after it ended.
            Err(error) if may_be_over && matches!(error.code(), Some("not_found" | "invalid_input")) => {
                Ok(State::Over)
            }
            Err(error) => Err(error),
        }
    }
}

impl fmt::Debug for Following {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batch, after, .. } = self;
        formatter
            .debug_struct("Following")
            .field("batch", batch)
            .field("after", after)
            .finish_non_exhaustive()
    }
}

/// The next complete event; `None` at the end.
async fn read_event(lines: &mut RawLines) -> Result<Option<(String, Bytes)>, Error> {
    let mut event = Event::default();
    while let Some(line) = lines.next().await.transpose()? {
        if let Some(id) = line.strip_prefix(b"id: ") {
            event.id = Some(String::from_utf8_lossy(id).into_owned());
        } else if line.starts_with(b"data: ") {
            event.data = Some(line.slice(b"data: ".len()..));
        } else if line.is_empty()
            && let (Some(id), Some(data)) = (event.id.take(), event.data.take())
        {
            return Ok(Some((id, data)));
        }
    }
    Ok(None)
}
