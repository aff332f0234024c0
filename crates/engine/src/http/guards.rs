//! Who may come in.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::header,
    middleware::Next,
    response::Response,
};
use subtle::ConstantTimeEq;

use super::{Engine, errors::ApiError};

/// Lets a request through that carries the key; the comparison takes the same time for every wrong key.
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
