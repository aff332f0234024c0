//! Errors in Anthropic's form.

use overnight_domain::ids::CallId;

use crate::json::{Value, object};

/// The type of a refusal without a more specific type.
pub const INVALID_REQUEST: &str = "invalid_request_error";

/// The type of a fault of the service.
pub const API_ERROR: &str = "api_error";

/// From codes of the native dialect to error types.
const TYPES: [(&str, &str); 17] = [
    ("invalid_api_key", "authentication_error"),
    ("payments_not_activated", "billing_error"),
    ("insufficient_credits", "billing_error"),
    ("insufficient_scope", "permission_error"),
    ("account_suspended", "permission_error"),
    ("not_found", "not_found_error"),
    ("too_large", "request_too_large"),
    ("quota_exceeded", "rate_limit_error"),
    ("too_many_calls", "rate_limit_error"),
    ("too_many_waiting_calls", "rate_limit_error"),
    ("too_many_wrong_keys", "rate_limit_error"),
    ("expired", "timeout_error"),
    ("still_waiting", "timeout_error"),
    ("unavailable", "overloaded_error"),
    ("internal", API_ERROR),
    ("engine_unavailable", API_ERROR),
    ("engine_invalid_response", API_ERROR),
];

/// The error type for a code of the native dialect.
pub fn type_of(code: &str) -> &'static str {
    TYPES.iter().find(|(known, _)| *known == code).map_or(INVALID_REQUEST, |(_, kind)| kind)
}

/// Appends the body of a refused call.
pub fn write_error(kind: &str, message: &str, call: CallId, out: &mut Vec<u8>) {
    error(kind, message, Some(call)).append(out);
}

/// The error of a call, or of a request in a batch, which has no call.
pub(super) fn error(kind: &str, message: &str, call: Option<CallId>) -> impl Value {
    object! { "type": "error", "error": object! { "type": kind, "message": message }, "request_id": call }
}
