//! Reading answers, within bounds.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

#[derive(Debug)]
pub enum Unread {
    TooLong,
    Broken(hyper::Error),
}

/// Fails if the body is longer than `bytes_max`.
pub async fn read_whole(mut body: Incoming, bytes_max: usize) -> Result<Bytes, Unread> {
    let is_too_long = |bytes: u64| usize::try_from(bytes).map_or(true, |bytes| bytes > bytes_max);
    if is_too_long(body.size_hint().lower()) {
        return Err(Unread::TooLong);
    }
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(Unread::Broken)?.into_data() else { continue };
        if data.len() > bytes_max - whole.len() {
            return Err(Unread::TooLong);
        }
        if whole.is_empty() && body.is_end_stream() {
            return Ok(data);
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

/// Appends the beginning of a body to `start`, at most `bytes_max`; unreadable parts are omitted.
pub async fn read_start(mut body: Incoming, start: &mut Vec<u8>, bytes_max: usize) {
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        let room = bytes_max.saturating_sub(start.len()).min(data.len());
        start.extend_from_slice(&data[..room]);
        if start.len() >= bytes_max {
            return;
        }
    }
}
