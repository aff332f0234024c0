//! What is wrong with the completion of a request.

use overnight_domain::chat;
use serde::{Deserialize, Serialize};

/// A field that the engine did not honour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "param": "request_body.logprobs",
    "message": "The engine did not honour `logprobs`: a choice has none."
})))]
pub struct Warning {
    /// Which field: its path in the record, as in the details of an error.
    pub param: String,
    /// What the completion shows, for a person to read.
    pub message: String,
}

/// The `warnings` of a request, as they are stored; `None` where there are none.
pub fn write_warnings(warnings: &[chat::Warning]) -> Option<Vec<u8>> {
    let told = |warning: &chat::Warning| Warning {
        param: format!("request_body.{}", warning.field),
        message: warning.message.clone(),
    };
    let told: Vec<_> = warnings.iter().map(told).collect();
    if told.is_empty() { None } else { serde_json::to_vec(&told).ok() }
}
