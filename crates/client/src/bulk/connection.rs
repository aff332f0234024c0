//! One connection of a bulk create.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream;
use reqwest::header::HeaderValue;
use reqwest::{Body, Response, Url};
use tokio::sync::mpsc;

use super::window::Window;
use crate::lines::RawLines;
use crate::{Client, Error};

/// Parts of the body that wait for the connection to take them.
const CHUNKS_WAITING: usize = 4;

/// A body that goes and an answer that comes.
pub(super) struct Connection {
    pub(super) body: Sending,
    pub(super) answer: Answer,
}

/// The body; `None` once it has its end.
pub(super) struct Sending(Option<mpsc::Sender<Bytes>>);

/// The answer.
pub(super) enum Answer {
    Awaited(BoxFuture<'static, Result<Response, Error>>),
    Lines(RawLines),
}

impl Connection {
    /// Begins the call. It is made as its answer is waited for.
    pub(super) fn begin(client: Client, url: Url, key: HeaderValue) -> Self {
        let (sender, chunks) = mpsc::channel(CHUNKS_WAITING);
        let chunks = stream::unfold(chunks, async |mut chunks: mpsc::Receiver<Bytes>| {
            Some((Ok::<_, Infallible>(chunks.recv().await?), chunks))
        });
        let body = Body::wrap_stream(chunks);
        let answer = async move { client.post_lines(url, key, body).await };
        Self { body: Sending(Some(sender)), answer: Answer::Awaited(answer.boxed()) }
    }
}

impl Sending {
    /// Ends the body.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }

    /// Whether the body has its end.
    pub(super) const fn has_ended(&self) -> bool {
        self.0.is_none()
    }

    /// Sends the next lines once there is room for them. It waits for ever where the connection takes no more: the answer tells why.
    pub(super) async fn send(&self, window: &mut Window) {
        match &self.0 {
            Some(sender) => match sender.reserve().await {
                Ok(room) => room.send(window.take_chunk()),
                Err(_) => std::future::pending().await,
            },
            None => std::future::pending().await,
        }
    }
}

impl Answer {
    /// Whether it has not begun.
    pub(super) const fn is_awaited(&self) -> bool {
        matches!(self, Self::Awaited(_))
    }

    /// The next line; `None` at its end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            match self {
                Self::Awaited(response) => *self = Self::Lines(RawLines::new(response.await?)),
                Self::Lines(lines) => return lines.next().await.transpose(),
            }
        }
    }
}
