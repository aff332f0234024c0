//! The committed OpenAPI reference. Only tests generate it from the handlers, so the program is built without the generator.

#[cfg(test)]
mod drawn;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::answers;

/// The document `docs/openapi.json`.
pub static OPENAPI_JSON: &str = include_str!("../../../docs/openapi.json");

/// `GET /openapi.json`.
pub(super) async fn get() -> Response {
    answers::typed(StatusCode::OK, HeaderValue::from_static("application/json"), Body::from(OPENAPI_JSON))
}
