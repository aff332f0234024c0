//! The available models.

use super::times::rfc3339;
use crate::json::{NULL, Value as _, object};

/// Appends a model. It is available since `created_at` and until `retires_at`, both in milliseconds. Its name is also its `display_name`.
pub fn write_model(id: &str, created_at: i64, retires_at: Option<i64>, out: &mut Vec<u8>) {
    object! {
        "type": "model",
        "id": id,
        "display_name": id,
        "created_at": rfc3339(created_at),
        "lifecycle": if retires_at.is_some() { "deprecated" } else { "active" },
        "deprecated_at": NULL,
        "retires_at": retires_at.map(rfc3339),
    }
    .append(out);
}
