//! Answer bodies: complete ones, and those whose connection breaks.

use std::convert::Infallible;
use std::io::{self, Read as _};
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzEncoder;
use futures_util::stream::{self, Stream, StreamExt as _};
use http_body_util::{Either, Full, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER};

use super::faults::Canned;
use super::recorder::Ending;
use super::socket::ResetFlag;
use super::state::Visit;
use crate::time;

type Frames = Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send>>;

pub(super) type Body = Either<Full<Bytes>, StreamBody<Frames>>;

/// Milliseconds in which a part of a body reaches the client before the connection breaks.
const BREAK_AFTER_MS: u64 = 20;
const DRIP_BYTES: usize = 16;

pub(super) fn whole(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(body.into())));
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

pub(super) fn canned(canned: Canned, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(body.into())));
    *response.status_mut() = hyper::StatusCode::from_u16(canned.status).unwrap_or_default();
    for (name, value) in canned.headers {
        response.headers_mut().append(*name, HeaderValue::from_static(value));
    }
    response
}

pub(super) fn gzip(body: &[u8]) -> Vec<u8> {
    let mut compressed = Vec::new();
    // Writing to memory cannot fail.
    let _ = GzEncoder::new(body, Compression::default()).read_to_end(&mut compressed);
    compressed
}

pub(super) fn error(status: u16, message: &str) -> Response<Body> {
    let reason = hyper::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let kind: String = reason.unwrap_or("Error").split_whitespace().collect();
    let body = serde_json::json!({
        "error": {"message": message, "type": format!("{kind}Error"), "param": null, "code": status}
    });
    whole(status, "application/json", body.to_string())
}

/// Adds `Retry-After` in seconds, if given.
pub(super) fn retry_after(mut response: Response<Body>, seconds: Option<u32>) -> Response<Body> {
    if let Some(seconds) = seconds {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

pub(super) enum Break {
    Close,
    Reset(ResetFlag),
    Hang,
}

/// Sends only the first half of a body; `Content-Length` promises all of it.
pub(super) fn broken(body: &Bytes, end: Break, visit: Visit) -> Response<Body> {
    let half = body.slice(..body.len() / 2);
    let rest = stream::once(async move {
        time::sleep_ms(BREAK_AFTER_MS).await;
        match end {
            Break::Close => {}
            Break::Reset(flag) => flag.store(true, Relaxed),
            Break::Hang => {
                std::future::pending::<Infallible>().await;
            }
        }
        visit.end(Ending::Faulted);
        Err(io::Error::other("a simulated fault broke the body off"))
    });
    let frames: Frames = Box::pin(stream::iter([Ok(Frame::data(half))]).chain(rest));
    let mut response = Response::new(Either::Right(StreamBody::new(frames)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    response
}

/// Sends a complete body slowly, in chunked coding.
pub(super) fn dripping(body: Bytes, pause_ms: u64, visit: Visit) -> Response<Body> {
    let frames: Frames =
        Box::pin(stream::unfold((body, Some(visit)), move |(mut rest, mut visit)| async move {
            if rest.is_empty() {
                if let Some(visit) = visit.take() {
                    visit.end(Ending::Faulted);
                }
                return None;
            }
            time::sleep_ms(pause_ms).await;
            let chunk = rest.split_to(DRIP_BYTES.min(rest.len()));
            Some((Ok(Frame::data(chunk)), (rest, visit)))
        }));
    let mut response = Response::new(Either::Right(StreamBody::new(frames)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
