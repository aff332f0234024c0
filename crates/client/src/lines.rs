//! Lists that arrive line by line.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use overnight_wire::native::errors::ErrorEnvelope;
use reqwest::Response;
use serde::de::DeserializeOwned;

use crate::errors::{Error, LINE_BYTES_MAX, cut};

/// A list of `T`, read as it arrives. An error ends it.
#[derive(Debug)]
pub struct Lines<T> {
    raw: RawLines,
    of: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Lines<T> {
    pub(crate) fn new(response: Response) -> Self {
        Self { raw: RawLines::new(response), of: PhantomData }
    }

    /// The next item; `None` after the end of a complete list.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        StreamExt::next(self).await
    }

    /// The rest of the list as the service wrote it.
    pub fn into_raw(self) -> RawLines {
        self.raw
    }
}

impl<T: DeserializeOwned> Stream for Lines<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let line = ready!(self.raw.poll_next_unpin(context));
        Poll::Ready(line.map(|line| serde_json::from_slice(&line?).map_err(Error::Unreadable)))
    }
}

/// The lines of a list as the service wrote them, without line breaks.
pub struct RawLines {
    /// `None` after the end or an error.
    body: Option<BoxStream<'static, reqwest::Result<Bytes>>>,
    unread: BytesMut,
    /// The number of bytes of `unread` known to have no line break.
    searched: usize,
}

impl RawLines {
    pub(crate) fn new(response: Response) -> Self {
        Self { body: Some(response.bytes_stream().boxed()), unread: BytesMut::new(), searched: 0 }
    }

    /// The next line; `None` after the end of a complete list.
    pub async fn next(&mut self) -> Option<Result<Bytes, Error>> {
        StreamExt::next(self).await
    }

    fn take_line(&mut self) -> Option<Bytes> {
        let Some(place) = self.unread[self.searched..].iter().position(|&byte| byte == b'\n') else {
            self.searched = self.unread.len();
            return None;
        };
        let mut line = self.unread.split_to(self.searched + place + 1);
        self.searched = 0;
        line.truncate(line.len() - 1);
        Some(line.freeze())
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<Bytes, Error>>> {
        self.body = None;
        (self.unread, self.searched) = (BytesMut::new(), 0);
        Poll::Ready(Some(Err(error)))
    }
}

impl fmt::Debug for RawLines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RawLines").field("is_over", &self.body.is_none()).finish_non_exhaustive()
    }
}

impl Stream for RawLines {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(line) = self.take_line() {
                if let Some(fault) = fault_in(&line) {
                    return self.fail(Error::Cut(fault));
                }
                return Poll::Ready(Some(Ok(line)));
            }
            if self.unread.len() > LINE_BYTES_MAX {
                return self.fail(Error::LineTooLong);
            }
            let Some(body) = &mut self.body else { return Poll::Ready(None) };
            match ready!(body.poll_next_unpin(context)) {
                Some(Ok(chunk)) => self.unread.extend_from_slice(&chunk),
                Some(Err(error)) => return self.fail(cut(&error)),
                None if self.unread.is_empty() => self.body = None,
                None => return self.fail(Error::Cut("the last line has no end".to_owned())),
            }
        }
    }
}

/// The message in a line that the service writes if it cannot finish a list. No record begins with an error.
fn fault_in(line: &[u8]) -> Option<String> {
    let rest = line.starts_with(br#"{"error":{"#).then_some(line)?;
    let ErrorEnvelope { error } = serde_json::from_slice(rest).ok()?;
    Some(format!("{} ({}, {})", error.message, error.code, error.request_id))
}
