//! Bodies of requests: read under a limit and under time-outs, and, where they are refused unread, read and dropped so
//! that the answer arrives: a client that is still sending when its connection is torn down may never see it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Version, header};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use overnight_base::clock::Sleep;
use overnight_domain::faults::codes;
use thiserror::Error;

use super::context::{Shared, after};
use super::counters;
use super::errors::Refusal;
use super::extract;
use super::shares::{self, Buffer, Client, MemoryPermit};
use crate::app::errors::AppError;

/// How much of a refused body is read and dropped.
const DROPPED_BYTES_MAX: usize = 16 << 20;

/// A body of so many bytes takes no memory of its client's share.
pub(super) const SHORT_BYTES: usize = 64 << 10;

/// Why a body did not come.
#[derive(Debug, Error)]
pub(super) enum BodyError {
    #[error("the body took too long to come")]
    TimedOut,
    #[error("the body broke off: {0}")]
    Broken(hyper::Error),
}

/// A body on its way, under time-outs. Dropped before its end, the rest is read and dropped by a task of its own.
pub(super) struct Received {
    body: Option<Incoming>,
    context: Shared,
    ends_at: i64,
    timer: Option<Sleep>,
    expects_continue: bool,
    /// Whether it is the rest of another, which is not read on once more: a runtime that ends drops it at once.
    is_rest: bool,
}

impl Received {
    /// The body of a request that begins now; `is_streamed` where its path takes it in while it comes.
    pub(super) fn body(body: Incoming, headers: &HeaderMap, is_streamed: bool, context: &Shared) -> Body {
        if body.is_end_stream() {
            return Body::empty();
        }
        // Lines are answered, and files stored, while they come, however long that takes.
        let ends_at = match check_type(headers) {
            Ok(ContentType::JsonLines) => i64::MAX,
            _ if is_streamed || is_form_data(headers) => i64::MAX,
            _ => after(context.services.clock.now(), context.timeouts.body_total),
        };
        let expects_continue = headers.contains_key(header::EXPECT);
        Body::new(Self {
            body: Some(body),
            context: Shared::clone(context),
            ends_at,
            timer: None,
            expects_continue,
            is_rest: false,
        })
    }

    fn poll_time_out(&mut self, task: &mut Task<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| {
            let clock = &self.context.services.clock;
            let (now, timeouts) = (clock.now(), self.context.timeouts);
            let idle_at = after(now, timeouts.body_idle);
            // The clock may have been set back: no body takes longer than it may.
            let ends_at = if self.ends_at == i64::MAX {
                i64::MAX
            } else {
                self.ends_at.min(after(now, timeouts.body_total))
            };
            clock.sleep_until(ends_at.min(idle_at))
        });
        timer.as_mut().poll(task)
    }
}

impl HttpBody for Received {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Task<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.expects_continue = false;
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        match Pin::new(body).poll_frame(task) {
            Poll::Ready(Some(Ok(frame))) => {
                self.timer = None;
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(ended) => {
                self.body = None;
                Poll::Ready(ended.map(|outcome| outcome.map_err(BodyError::Broken)))
            }
            Poll::Pending => {
                ready!(self.poll_time_out(task));
                self.body = None;
                Poll::Ready(Some(Err(BodyError::TimedOut)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        // A client that waits for `100 Continue` sends nothing once it has the answer.
        let is_over = self.expects_continue || self.is_rest;
        let Some(body) = self.body.take().filter(|body| !body.is_end_stream() && !is_over) else {
            return;
        };
        let clock = &self.context.services.clock;
        let rest = Self {
            body: Some(body),
            context: Shared::clone(&self.context),
            ends_at: self.ends_at.min(after(clock.now(), self.context.timeouts.body_total)),
            timer: None,
            expects_continue: false,
            is_rest: true,
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(drop_rest(rest));
        }
    }
}

async fn drop_rest(mut rest: Received) {
    let mut dropped = 0;
    while let Some(Ok(frame)) = rest.frame().await {
        dropped += frame.data_ref().map_or(0, Bytes::len);
        if dropped > DROPPED_BYTES_MAX {
            break;
        }
    }
    rest.body = None;
}

/// The body of a call that takes JSON and no query. `Connection::run` has put it under its time-outs, as [`Received`].
pub(super) struct JsonBody(pub(super) Bytes);

impl FromRequest<Shared> for JsonBody {
    type Rejection = Refusal;

    async fn from_request(request: Request, context: &Shared) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        check_json(&parts.headers)?;
        let limit = context.services.config().limits.request_body_bytes;
        let text = read(body, limit, Buffers::of(&parts, context)).await?;
        extract::refuse_query(&parts)?;
        Ok(Self(text))
    }
}

/// The body of a call that takes JSON or JSON Lines, and no query.
pub(super) enum JsonOrLines {
    /// One text.
    Json(Bytes),
    /// Lines that come one by one.
    Lines(Body, Buffers),
}

impl FromRequest<Shared> for JsonOrLines {
    type Rejection = Refusal;

    async fn from_request(request: Request, context: &Shared) -> Result<Self, Refusal> {
        if check_type(request.headers())? == ContentType::Json {
            let JsonBody(text) = JsonBody::from_request(request, context).await?;
            return Ok(Self::Json(text));
        }
        let (parts, body) = request.into_parts();
        extract::refuse_query(&parts)?;
        Ok(Self::Lines(body, Buffers::of(&parts, context)))
    }
}

/// What is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContentType {
    Json,
    JsonLines,
}

fn is_form_data(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"multipart/form-data")
}

/// Refuses what is no JSON.
pub(super) fn check_json(headers: &HeaderMap) -> Result<(), Refusal> {
    match check_type(headers)? {
        ContentType::Json => Ok(()),
        ContentType::JsonLines => Err(Refusal::UnsupportedMediaType("the body must be application/json")),
    }
}

fn check_type(headers: &HeaderMap) -> Result<ContentType, Refusal> {
    let encoding = headers.get(header::CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(Refusal::UnsupportedMediaType("the body must not be compressed"));
    }
    let Some(content_type) = headers.get(header::CONTENT_TYPE) else { return Ok(ContentType::Json) };
    let essence = content_type.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    if essence.trim_ascii().eq_ignore_ascii_case(b"application/json") {
        return Ok(ContentType::Json);
    }
    if essence.trim_ascii().eq_ignore_ascii_case(b"application/x-ndjson") {
        return Ok(ContentType::JsonLines);
    }
    Err(Refusal::UnsupportedMediaType("the body must be application/json"))
}

/// The whole body; without a copy where it came in one piece. A long one takes memory of its client's share, before it is read
/// where its length was announced, and gives it back with the last of its bytes.
pub(super) async fn read(mut body: Body, limit: usize, buffers: Buffers) -> Result<Bytes, Refusal> {
    let size = body.size_hint();
    let announced = usize::try_from(size.lower()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(Refusal::TooLarge(limit));
    }
    let mut memory = if announced > SHORT_BYTES { buffers.take(announced).await? } else { None };
    let mut first = Bytes::new();
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(broken)?.into_data() else { continue };
        let length = first.len() + whole.len() + piece.len();
        if length > limit {
            return Err(Refusal::TooLarge(limit));
        }
        if length > SHORT_BYTES && memory.is_none() {
            memory = buffers.take(limit).await?;
        }
        if first.is_empty() && whole.is_empty() {
            first = piece;
        } else {
            if whole.is_empty() {
                whole.reserve(announced.max(length));
                whole.extend_from_slice(&std::mem::take(&mut first));
            }
            whole.extend_from_slice(&piece);
        }
    }
    let bytes = if whole.is_empty() { first } else { whole.into() };
    let Some(mut memory) = memory else { return Ok(bytes) };
    memory.correct(bytes.len());
    Ok(shares::hold(bytes, Arc::new(memory)))
}

/// Whose memory a body takes.
pub(super) struct Buffers {
    context: Shared,
    client: Option<Client>,
    /// Whether the body is one of many on its connection: unread it would take the window of those that are being read.
    is_stream: bool,
}

impl Buffers {
    /// Those of the client of this call, as `calls.rs` named it.
    pub(super) fn of(parts: &Parts, context: &Shared) -> Self {
        let is_stream = parts.version == Version::HTTP_2;
        Self { context: Shared::clone(context), client: parts.extensions.get().copied(), is_stream }
    }

    /// Memory for so many bytes: once it is free, and of HTTP/2 at once. `None` where nobody knows who calls.
    pub(super) async fn take(&self, bytes: usize) -> Result<Option<MemoryPermit>, AppError> {
        const WHY: &str = "other bodies that you are sending hold all of your memory";
        let Some(client) = self.client else { return Ok(None) };
        if !self.is_stream {
            return self.context.memory(Buffer::Requests, client, bytes, WHY).await.map(Some);
        }
        let memory = self.context.shares.try_memory(Buffer::Requests, client, bytes);
        if memory.is_none() {
            counters::count_over_share("memory");
        }
        memory.map(Some).ok_or_else(|| AppError::Unavailable(WHY.to_owned()))
    }
}

pub(super) fn broken(error: axum::Error) -> Refusal {
    match error.into_inner().downcast::<BodyError>().as_deref() {
        Ok(BodyError::TimedOut) => Refusal::TimedOut,
        _ => AppError::invalid("", codes::INVALID_JSON, "broke off before its end").into(),
    }
}
