//! Answers with one JSON text.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

/// Space for a record without bodies.
const RECORD_BYTES: usize = 256;

/// 200 with the JSON that `write` appends.
pub fn ok(write: impl FnOnce(&mut Vec<u8>)) -> Response {
    json(StatusCode::OK, write)
}

/// Appends an array of the one value that `write` appends.
pub(super) fn array_of_one(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'[');
    write(out);
    out.push(b']');
}

pub(super) fn json(status: StatusCode, write: impl FnOnce(&mut Vec<u8>)) -> Response {
    let mut text = Vec::with_capacity(RECORD_BYTES);
    write(&mut text);
    typed(status, HeaderValue::from_static("application/json"), Body::from(text))
}

pub fn typed(status: StatusCode, content_type: HeaderValue, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}
