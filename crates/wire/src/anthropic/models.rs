//! The models on offer.

use super::times::push_rfc3339;
use crate::json::{push, push_key, push_string};

/// Appends a model that is offered since `created_at` and, where it retires, until `retires_at`, both in milliseconds. Its name is all that
/// it is called by.
pub fn write_model(id: &str, created_at: i64, retires_at: Option<i64>, out: &mut Vec<u8>) {
    push("{\"type\":\"model\",\"id\":", out);
    push_string(id, out);
    push_key("display_name", out);
    push_string(id, out);
    push_key("created_at", out);
    push_rfc3339(created_at, out);
    push_key("lifecycle", out);
    push_string(if retires_at.is_some() { "deprecated" } else { "active" }, out);
    push(",\"deprecated_at\":null,\"retires_at\":", out);
    match retires_at {
        Some(at) => push_rfc3339(at, out),
        None => push("null", out),
    }
    push("}", out);
}
