//! Bodies of requests, read under limits of length and time. The rest of a refused body is read and dropped so that the answer arrives: a
//! client that is still sending when its connection is reset may never see it.

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
use overnight_app::errors::AppError;
use overnight_base::clock::Sleep;
use overnight_domain::faults::codes;
use thiserror::Error;

use super::activity::Activity;
use super::context::{Shared, after};
use super::counters;
use super::errors::Refusal;
use super::extract;
use super::shares::{self, Buffer, Client, MemoryPermit};

/// The bytes of a refused body that are read and dropped.
const DROPPED_BYTES_MAX: usize = 16 << 20;

/// Bodies up to this many bytes take no memory of their client's share.
pub(super) const SHORT_BYTES: usize = 64 << 10;

/// Why a body could not be read.
#[derive(Debug, Error)]
pub(super) enum BodyError {
    #[error("the body took too long to come")]
    TimedOut,
    #[error("the body broke off: {0}")]
    Broken(hyper::Error),
}

/// A body that is being received, with time-outs. If it is dropped before its end, a separate task reads and drops the rest.
pub(super) struct Received {
    body: Option<Incoming>,
    context: Shared,
    ends_at: i64,
    timer: Option<Sleep>,
    expects_continue: bool,
    activity: Arc<Activity>,
    /// Set for the rest of a dropped body, which starts no further task: a runtime that ends drops it immediately.
    is_rest: bool,
}

impl Received {
    /// The body of a new request; `is_streamed` if its path processes it as it arrives.
    pub(super) fn body(
        body: Incoming,
        headers: &HeaderMap,
        is_streamed: bool,
        context: &Shared,
        activity: &Arc<Activity>,
    ) -> Body {
        if body.is_end_stream() {
            return Body::empty();
        }
        // Lines are answered, and files stored, while they arrive, without a limit of time.
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
            activity: Arc::clone(activity),
            is_rest: false,
        })
    }

    fn poll_time_out(&mut self, task: &mut Task<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| {
            let clock = &self.context.services.clock;
            let (now, timeouts) = (clock.now(), self.context.timeouts);
            let idle_at = after(now, timeouts.body_idle);
            // If the clock was set back, no body gets more time.
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
                self.activity.proceed();
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
        // A client that waits for `100 Continue` sends no body after the answer.
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
            activity: Arc::clone(&self.activity),
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

/// The body of a call that takes JSON and no query. `Connection::run` has added its time-outs, as [`Received`].
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
    Json(Bytes),
    /// Streamed lines, and the headers of their call.
    Lines(HeaderMap, Body, Buffers),
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
        let buffers = Buffers::of(&parts, context);
        Ok(Self::Lines(parts.headers, body, buffers))
    }
}

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

/// Refuses other types than JSON.
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

/// The whole body, without a copy if it arrived in one piece. A long body takes memory of its client's share, before it is read if its
/// length was announced, and returns it with the last of its bytes.
pub async fn read(mut body: Body, limit: usize, buffers: Buffers) -> Result<Bytes, Refusal> {
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

/// The share whose memory a body takes.
pub struct Buffers {
    context: Shared,
    client: Option<Client>,
    /// Whether the connection has many bodies: an unread one would take the window of those that are being read.
    is_stream: bool,
}

impl Buffers {
    /// Of the client that `calls.rs` identified.
    pub fn of(parts: &Parts, context: &Shared) -> Self {
        let is_stream = parts.version == Version::HTTP_2;
        Self { context: Shared::clone(context), client: parts.extensions.get().copied(), is_stream }
    }

    /// Memory for a body, once it is free, but over HTTP/2 only if it is free now. `None` if the client is unknown.
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
