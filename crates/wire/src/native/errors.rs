//! The body of a refused call.

use serde::{Deserialize, Serialize};

/// The one shape of every refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Error, example = json!({
    "error": {
        "message": "role must be one of system, developer, user, assistant, tool",
        "type": "invalid_request_error",
        "code": "invalid_input",
        "param": "request_body.messages[0].role",
        "details": [{
            "param": "request_body.messages[0].role",
            "message": "role must be one of system, developer, user, assistant, tool",
            "code": "invalid_value"
        }],
        "request_id": "call_01jz8m5t1wf3p9z7c2k8e6r4ja"
    }
})))]
pub struct ErrorEnvelope {
    /// The refusal.
    pub error: ErrorBody,
}

/// Why something was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorBody {
    /// What is wrong, for a person to read.
    pub message: String,
    /// The kind of refusal, for a program to tell by.
    #[serde(rename = "type")]
    pub kind: String,
    /// The exact refusal, for a program to tell by.
    pub code: String,
    /// What in the input is at fault, or null.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub param: Option<String>,
    /// Every fault found in the input; at most the first 1,000.
    pub details: Vec<ErrorDetail>,
    /// How many faults Create Batch found, or a line of a bulk create with more than the 20 that `details` names has. Absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub details_total: Option<u64>,
    /// The name of this call, also in `X-Request-Id`. Quote it when you ask for help.
    pub request_id: String,
}

/// One fault in the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorDetail {
    /// Where it is, such as `request_body.messages[0].role` or `requests_ids[3]`; elements count from 0. Null for the
    /// input as a whole.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub param: Option<String>,
    /// The identifier at fault, in an answer of Create Batch. Absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub id: Option<String>,
    /// What is wrong, for a person to read.
    pub message: String,
    /// What is wrong, for a program to tell by.
    pub code: String,
}
