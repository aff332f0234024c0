//! The routes of the stand-in.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State as Shared};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use serde_json::{Value, json};

use super::form::{self, WrongField};
use super::records::{Answer, Kept, Records};
use super::{State, Trouble};

pub(super) fn router(state: Arc<State>) -> Router {
    let sessions = get(list).post(create);
    Router::new()
        .route("/v1/checkout/sessions", sessions)
        .route("/v1/checkout/sessions/{id}", retrieving("checkout.session"))
        .route("/v1/refunds/{id}", retrieving("refund"))
        .route("/v1/disputes/{id}", retrieving("dispute"))
        .fallback(|| async {
            respond(error(404, "invalid_request_error", None, "Unrecognized request URL."))
        })
        .with_state(state)
}

async fn create(Shared(state): Shared<Arc<State>>, headers: HeaderMap, body: Bytes) -> Response {
    if let Err(refused) = check_caller(&state, &headers) {
        return respond(refused);
    }
    if text(&headers, CONTENT_TYPE) != Some("application/x-www-form-urlencoded") {
        let message = "Invalid request: bodies are application/x-www-form-urlencoded.";
        return respond(error(400, "invalid_request_error", None, message));
    }
    let fields = form::fields(&body);
    if let Err(WrongField { name, code, message }) = form::check(&fields) {
        let (status, mut body) = error(400, "invalid_request_error", Some(code), &message);
        body["error"]["param"] = json!(name);
        return respond((status, body));
    }
    let key = text(&headers, HeaderName::from_static("idempotency-key"));
    let mut records = state.records();
    match key.map(|key| records.kept(key, &fields)) {
        Some(Kept::Same(answer)) => {
            let mut response = respond(answer);
            response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
            return response;
        }
        Some(Kept::Other) => {
            let message = "Keys for idempotent requests can only be used with the same parameters they were first \
                           used with. Try using a key other than the one used here.";
            return respond(error(400, "idempotency_error", None, message));
        }
        Some(Kept::Nothing) | None => {}
    }
    let answer = match records.trouble.take() {
        Some(Trouble::TooMany) => return respond(too_many()),
        Some(Trouble::Failure) => failure(),
        None => (StatusCode::OK, records.create(&fields)),
    };
    if let Some(key) = key {
        records.keep(key, fields, answer.clone());
    }
    respond(answer)
}

async fn list(Shared(state): Shared<Arc<State>>, headers: HeaderMap, RawQuery(query): RawQuery) -> Response {
    if let Err(refused) = check_caller(&state, &headers) {
        return respond(refused);
    }
    let mut records = state.records();
    if let Some(answer) = take_trouble(&mut records) {
        return respond(answer);
    }
    let fields = form::fields(query.unwrap_or_default().as_bytes());
    let intent = fields.get("payment_intent").map_or("", String::as_str);
    let Some(sessions) = records.sessions_of(intent) else {
        let message = format!("No such payment_intent: '{intent}'");
        return respond(error(404, "invalid_request_error", Some("resource_missing"), &message));
    };
    let list = json!({
        "object": "list", "url": "/v1/checkout/sessions", "has_more": false, "data": sessions,
    });
    respond((StatusCode::OK, list))
}

/// A handler that returns an object of this kind by its name.
fn retrieving(kind: &'static str) -> MethodRouter<Arc<State>> {
    get(async move |Shared(state): Shared<Arc<State>>, headers: HeaderMap, Path(id): Path<String>| {
        show(&state, &headers, kind, &id)
    })
}

fn show(state: &State, headers: &HeaderMap, kind: &str, id: &str) -> Response {
    if let Err(refused) = check_caller(state, headers) {
        return respond(refused);
    }
    let mut records = state.records();
    if let Some(answer) = take_trouble(&mut records) {
        return respond(answer);
    }
    match records.object(kind, id).cloned() {
        Some(found) => respond((StatusCode::OK, found)),
        None => {
            let message = format!("No such {kind}: {id}");
            respond(error(404, "invalid_request_error", Some("resource_missing"), &message))
        }
    }
}

/// Requires the key and a version.
fn check_caller(state: &State, headers: &HeaderMap) -> Result<(), Answer> {
    let wanted = format!("Bearer {}", state.secret_key);
    match text(headers, AUTHORIZATION) {
        Some(sent) if sent == wanted => {}
        Some(sent) => {
            // Stripe shows only the last characters; other services would show the whole key.
            let message = format!("Invalid API Key provided: {}", sent.trim_start_matches("Bearer "));
            return Err(error(401, "invalid_request_error", None, &message));
        }
        None => {
            return Err(error(401, "invalid_request_error", None, "You did not provide an API key."));
        }
    }
    let version = text(headers, HeaderName::from_static("stripe-version")).unwrap_or_default();
    let (date, name) = version.split_once('.').unwrap_or_default();
    let is_version = date.len() == 10 && date.split('-').count() == 3 && !name.is_empty();
    let message = format!("Invalid Stripe API version: {version}");
    is_version.then_some(()).ok_or_else(|| error(400, "invalid_request_error", None, &message))
}

/// The fault of the next call, as an answer.
fn take_trouble(records: &mut Records) -> Option<Answer> {
    records.trouble.take().map(|trouble| match trouble {
        Trouble::TooMany => too_many(),
        Trouble::Failure => failure(),
    })
}

fn too_many() -> Answer {
    let message = "Too many requests hit the API too quickly.";
    error(429, "invalid_request_error", Some("rate_limit"), message)
}

fn failure() -> Answer {
    error(500, "api_error", None, "Sorry! There was an error while talking to one of our backends.")
}

fn error(status: u16, kind: &str, code: Option<&str>, message: &str) -> Answer {
    let mut told = json!({"type": kind, "message": message});
    if let Some(code) = code {
        told["code"] = json!(code);
    }
    (StatusCode::from_u16(status).unwrap_or_default(), json!({"error": told}))
}

fn respond((status, body): (StatusCode, Value)) -> Response {
    (status, axum::Json(body)).into_response()
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}
