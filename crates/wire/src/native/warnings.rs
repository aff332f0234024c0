//! Warnings about the answer to a request.

use overnight_domain::answers;
use serde::{Deserialize, Serialize};

/// A field of the request that the engine did not honour, or an odd part of its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "param": "request_body.logprobs",
    "message": "The engine did not honour `logprobs`: a choice has none."
})))]
pub struct Warning {
    /// Its path in the record: `request_body.` and a field that the engine did not honour, or `result_body` and the odd part of the answer, such
    /// as `result_body.usage`.
    pub param: String,
    /// A description, for a person to read.
    pub message: String,
}

/// The `warnings` of a request as they are stored; `None` if there are none.
pub fn write_warnings(warnings: &[answers::Warning]) -> Option<Vec<u8>> {
    let told = warnings
        .iter()
        .map(|warning| Warning { param: warning.param.to_owned(), message: warning.message.clone() });
    let told: Vec<_> = told.collect();
    if told.is_empty() { None } else { serde_json::to_vec(&told).ok() }
}
