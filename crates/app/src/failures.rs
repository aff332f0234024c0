//! The results of failed requests.

use std::borrow::Cow;

use overnight_domain::json::Json;
use overnight_domain::scheduler::FailureCode;
use overnight_wire::native::results::{FailedResult, FailureBody};

const REFUSED: &str = "invalid_input";

/// The stored `result_body` of a request that failed with `code`.
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

/// The result body of a request that was refused as a part of a batch.
pub fn refused_body(message: &str) -> Vec<u8> {
    let error = FailureBody {
        message: message.to_owned(),
        kind: "invalid_request_error".to_owned(),
        code: REFUSED.to_owned(),
        param: None,
    };
    serde_json::to_vec(&FailedResult { error }).unwrap_or_default()
}

pub fn expired_body() -> Vec<u8> {
    result_body(FailureCode::Expired, "the completion window of 24 hours ended before an engine had answered")
}

/// The longest message of a failure in a list, in characters.
const MESSAGE_CHARS_MAX: usize = 300;

/// A failure for people.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Failure {
    /// Truncated if very long.
    pub message: String,
    pub code: Option<String>,
}

impl Failure {
    pub(super) fn read(result: &[u8]) -> Option<Self> {
        let result = Json::from_stored(result).ok()?.to_object()?;
        let error = result.get("error")?.to_object()?;
        let text = |key| error.get(key).and_then(Json::decode_string);
        let message = text("message")?;
        let message = match message.char_indices().nth(MESSAGE_CHARS_MAX) {
            Some((end, _)) => format!("{}…", &message[..end]),
            None => message.into_owned(),
        };
        Some(Self { message, code: text("code").map(Cow::into_owned) })
    }
}
