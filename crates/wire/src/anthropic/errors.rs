//! What is answered when something is refused.

use overnight_domain::ids::CallId;

use crate::json::{push, push_id, push_key, push_string};

/// The type of a refusal that has no other.
pub const INVALID_REQUEST: &str = "invalid_request_error";

/// The type of a fault that is no client's.
pub const API_ERROR: &str = "api_error";

/// The types of errors by the codes of the native dialect.
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

/// The type of the error that has this code in the native dialect.
pub fn type_of(code: &str) -> &'static str {
    TYPES.iter().find(|(known, _)| *known == code).map_or(INVALID_REQUEST, |(_, kind)| kind)
}

/// Appends the one shape of every refusal of a call.
pub fn write_error(kind: &str, message: &str, call: CallId, out: &mut Vec<u8>) {
    open_error(kind, message, out);
    push_key("request_id", out);
    push_id(call, out);
    out.push(b'}');
}

/// Appends the error of a request in a batch, which belongs to no call.
pub(super) fn write_error_of_request(kind: &str, message: &str, out: &mut Vec<u8>) {
    open_error(kind, message, out);
    push(",\"request_id\":null}", out);
}

fn open_error(kind: &str, message: &str, out: &mut Vec<u8>) {
    push("{\"type\":\"error\",\"error\":{\"type\":", out);
    push_string(kind, out);
    push_key("message", out);
    push_string(message, out);
    out.push(b'}');
}
