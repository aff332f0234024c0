//! What the result of a failed request says.

use overnight_domain::scheduler::FailureCode;
use overnight_wire::native::results::{FailedResult, FailureBody};

/// The `result_body` of a request that failed with `code`, as it is stored.
pub fn result_body(code: FailureCode, message: &str) -> Vec<u8> {
    let kind = match code {
        FailureCode::EngineRejected => "invalid_request_error",
        FailureCode::Expired | FailureCode::EngineUnavailable | FailureCode::EngineInvalidResponse => {
            "server_error"
        }
    };
    let error = FailureBody {
        message: message.to_owned(),
        kind: kind.to_owned(),
        code: code.as_str().to_owned(),
        param: None,
    };
    serde_json::to_vec(&FailedResult { error }).unwrap_or_default()
}

/// What an expired request says.
pub fn expired_body() -> Vec<u8> {
    result_body(FailureCode::Expired, "the completion window of 24 hours ended before an engine had answered")
}
