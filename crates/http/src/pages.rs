//! Pages for people, without scripts or external files.

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;

use super::answers;

const HEADERS: [(HeaderName, HeaderValue); 3] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        ),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
];

pub(super) fn html(page: Bytes) -> Response {
    guarded("text/html; charset=utf-8", page)
}

pub(super) fn css(sheet: Bytes) -> Response {
    guarded("text/css; charset=utf-8", sheet)
}

fn guarded(content_type: &'static str, body: Bytes) -> Response {
    let content_type = HeaderValue::from_static(content_type);
    let mut response = answers::typed(StatusCode::OK, content_type, Body::from(body));
    response.headers_mut().extend(HEADERS);
    response
}
