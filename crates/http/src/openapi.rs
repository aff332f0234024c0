//! The committed OpenAPI reference. Only tests generate it from the handlers, so the program is built without the generator.

#[cfg(test)]
mod drawn;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::answers;
use super::context::Shared;

/// The document `docs/openapi.json`.
pub static OPENAPI_JSON: &str = include_str!("../../../docs/openapi.json");

/// The server in the document.
const ROOT: &str = r#""url": "/""#;

/// `GET /openapi.json`: the document, with the path of `public_url` as its server.
pub(super) async fn get(State(context): State<Shared>) -> Response {
    let config = context.services.config();
    let document = match config.public_path() {
        "" => Body::from(OPENAPI_JSON),
        path => Body::from(OPENAPI_JSON.replacen(ROOT, &format!(r#""url": "{path}/""#), 1)),
    };
    answers::typed(StatusCode::OK, HeaderValue::from_static("application/json"), document)
}
