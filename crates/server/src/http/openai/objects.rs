//! Bodies of calls that are not kept: objects of which fields that are not known are ignored, as clients send more than is asked for.

use bytes::Bytes;
use overnight_domain::faults::codes;
use overnight_domain::json::{JsonText, RawObject, minimize};

use crate::app::errors::AppError;

/// Reads a body as JSON.
pub(super) fn read(body: &Bytes) -> Result<JsonText, AppError> {
    minimize(body, 0).map_err(|error| {
        let message =
            format!("cannot be read as JSON: at byte {}, expected {}", error.offset, error.expected);
        AppError::invalid("", error.code, &message)
    })
}

/// The object that a body is.
pub(super) fn object(text: &JsonText) -> Result<RawObject<'_>, AppError> {
    let object = text.as_json().to_object();
    object.ok_or_else(|| AppError::invalid("", codes::WRONG_TYPE, "must be a JSON object"))
}
