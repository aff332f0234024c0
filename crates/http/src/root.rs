//! The page at `/`: the console for people, an index for programs.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::json;

use super::context::Shared;
use super::{accept, answers};

const DOCS: &str = "/docs";

/// `GET /`. A browser is redirected to the console, or to the reference if there is none.
pub(super) async fn get(State(context): State<Shared>, headers: HeaderMap) -> Response {
    let config = context.services.config();
    let path = config.public_path();
    let console = config.console_origin().ok().map(|origin| origin.base);
    if accept::names(&headers, "text/html") {
        let mut response = Response::default();
        *response.status_mut() = StatusCode::SEE_OTHER;
        if let Ok(place) = HeaderValue::try_from(console.unwrap_or_else(|| format!("{path}{DOCS}"))) {
            response.headers_mut().insert(header::LOCATION, place);
        }
        return response;
    }
    let places = json!({
        "service": "Overnight",
        "console": console,
        "documentation": format!("{path}{DOCS}"),
        "openapi": format!("{path}/openapi.json"),
        "api": format!("{path}/v1"),
    });
    answers::ok(|out| out.extend(places.to_string().into_bytes()))
}
