//! Checks before a request is accepted.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::header,
    middleware::Next,
    response::Response,
};
use subtle::ConstantTimeEq;

use super::{BODY_BYTES_MAX, Engine, errors::ApiError};

/// Requires the key; the comparison takes the same time for every wrong key.
pub(super) async fn require_key(
    State(engine): State<Arc<Engine>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let given = request.headers().get(header::AUTHORIZATION).map_or(&[][..], |value| value.as_bytes());
    let is_known = match given.split_at_checked("Bearer ".len()) {
        Some((scheme, key)) => {
            scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(key.ct_eq(engine.key.as_bytes()))
        }
        None => false,
    };
    if is_known { Ok(next.run(request).await) } else { Err(ApiError::wrong_key()) }
}

/// Refuses a body whose declared length is too large before its first byte; others are refused while they are read.
pub(super) async fn bound_body(request: Request, next: Next) -> Result<Response, ApiError> {
    let announced = request.headers().get(header::CONTENT_LENGTH);
    let announced: Option<usize> = announced.and_then(|length| length.to_str().ok()?.parse().ok());
    match announced {
        Some(length) if length > BODY_BYTES_MAX => Err(ApiError::too_large()),
        _ => Ok(next.run(request).await),
    }
}
