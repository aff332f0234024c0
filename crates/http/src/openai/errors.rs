//! Errors for OpenAI's clients. They distinguish errors by status, and repeat calls unless `x-should-retry` says otherwise.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use overnight_app::errors::AppError;
use overnight_domain::ids::CallId;
use overnight_wire::openai::errors::ErrorObject;

use crate::errors::Refusal;

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// These clients' code for an account that cannot pay.
const INSUFFICIENT_QUOTA: &str = "insufficient_quota";

pub(super) fn write(refusal: &Refusal, call: CallId, response: &mut Response) {
    *response.status_mut() = status(refusal, response.status());
    if refusal.is_final() {
        response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    let mut body = Vec::new();
    error_object(refusal, call).write_envelope(&mut body);
    *response.body_mut() = Body::from(body);
}

/// The error object for these clients.
pub(super) fn error_object(refusal: &Refusal, call: CallId) -> ErrorObject {
    let mut object = ErrorObject::from_native(refusal.body(call));
    if is_about_credits(refusal) {
        INSUFFICIENT_QUOTA.clone_into(&mut object.kind);
        object.code = Some(INSUFFICIENT_QUOTA.to_owned());
    }
    object
}

fn status(refusal: &Refusal, native: StatusCode) -> StatusCode {
    match refusal {
        refusal if is_about_credits(refusal) => StatusCode::TOO_MANY_REQUESTS,
        Refusal::App(AppError::Invalid(_)) => StatusCode::BAD_REQUEST,
        _ => native,
    }
}

const fn is_about_credits(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::App(AppError::PaymentsNotActivated | AppError::InsufficientCredits { .. }))
}
