//! Bodies of calls that are not stored: unknown fields are ignored, because clients send more than is needed.

use bytes::Bytes;
use overnight_app::errors::AppError;
use overnight_domain::faults::codes;
use overnight_domain::json::{JsonText, RawObject, minimize};

pub(super) fn read(body: &Bytes) -> Result<JsonText, AppError> {
    minimize(body, 0).map_err(|error| {
        let message =
            format!("cannot be read as JSON: at byte {}, expected {}", error.offset, error.expected);
        AppError::invalid("", error.code, &message)
    })
}

pub(super) fn object(text: &JsonText) -> Result<RawObject<'_>, AppError> {
    let object = text.as_json().to_object();
    object.ok_or_else(|| AppError::invalid("", codes::WRONG_TYPE, "must be a JSON object"))
}
