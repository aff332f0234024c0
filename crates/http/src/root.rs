//! The page at `/`: the console for people, an index for programs.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::json;

use super::context::Shared;
use super::{accept, answers};

const CONSOLE: &str = "/console";
const DOCS: &str = "/docs";

/// `GET /`. A browser is redirected to the console, or to the reference if there is none.
pub(super) async fn get(State(context): State<Shared>, headers: HeaderMap) -> Response {
    let console = context.services.config().console_origin().ok().map(|_| CONSOLE);
    if accept::names(&headers, "text/html") {
        let mut response = Response::default();
        *response.status_mut() = StatusCode::SEE_OTHER;
        let place = HeaderValue::from_static(console.unwrap_or(DOCS));
        response.headers_mut().insert(header::LOCATION, place);
        return response;
    }
    let places = json!({
        "service": "Overnight",
        "console": console,
        "documentation": DOCS,
        "openapi": "/openapi.json",
        "api": "/v1",
    });
    answers::ok(|out| out.extend(places.to_string().into_bytes()))
}
