//! Errors for Anthropic's clients. They distinguish errors by status, and repeat calls unless `x-should-retry` says otherwise.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use overnight_app::errors::{AppError, InputFault, InvalidInput};
use overnight_app::messages;
use overnight_domain::faults::codes;
use overnight_domain::ids::CallId;
use overnight_domain::json::Json;
use overnight_wire::anthropic::Origins;
use overnight_wire::anthropic::errors::{type_of, write_error};
use overnight_wire::anthropic::events::write_error_event;

use crate::errors::{self, Refusal};

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The status of an overloaded service for these clients.
const OVERLOADED: u16 = 529;

pub(super) fn write(refusal: &Refusal, call: CallId, response: &mut Response) {
    *response.status_mut() = status(refusal, response.status());
    if refusal.is_final() {
        response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    let mut body = Vec::new();
    let (kind, message) = told(refusal, call);
    write_error(kind, &message, call, &mut body);
    *response.body_mut() = Body::from(body);
}

/// Appends an error to a stream that has begun, as an event, and logs internal faults.
pub(super) fn write_in_stream(refusal: &Refusal, call: CallId, out: &mut Vec<u8>) {
    if let Refusal::App(error) = refusal {
        errors::log(error, format_args!("call {call}"));
    }
    let (kind, message) = told(refusal, call);
    write_error_event(kind, &message, call, out);
}

/// An invalid input with a complete message.
pub(super) fn invalid(message: &str) -> AppError {
    let detail =
        InputFault { param: String::new(), id: None, code: codes::CONFLICT, message: message.to_owned() };
    AppError::Invalid(InvalidInput { details: vec![detail], total: None })
}

/// The type and message of an error.
fn told(refusal: &Refusal, call: CallId) -> (&'static str, String) {
    let body = refusal.body(call);
    let message = match refusal {
        Refusal::App(AppError::Invalid(invalid)) => messages::words(&no_params(), invalid),
        _ => body.message,
    };
    (type_of(&body.code), message)
}

/// No input reported here was made from a chat completion.
fn no_params() -> Origins {
    Json::from_stored(b"{}").map(Origins::of).unwrap_or_default()
}

fn status(refusal: &Refusal, native: StatusCode) -> StatusCode {
    match refusal {
        Refusal::App(
            AppError::Invalid(_)
            | AppError::IdempotencyKeyReused
            | AppError::AlreadyEnded { .. }
            | AppError::NotEnded(_),
        ) => StatusCode::BAD_REQUEST,
        Refusal::App(AppError::Unavailable(_) | AppError::StoreAway { .. }) => {
            StatusCode::from_u16(OVERLOADED).unwrap_or(native)
        }
        Refusal::StillWaiting { .. } => StatusCode::GATEWAY_TIMEOUT,
        _ => native,
    }
}
