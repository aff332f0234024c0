//! What the requests of a batch ended with.

use overnight_domain::json::Json;
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;

use super::answers::{Message, member, text};
use super::errors::{API_ERROR, type_of, write_error_of_request};
use crate::json::{escape_line_ends, push, push_string};

/// The code of a request whose completion window has passed.
const EXPIRED: &str = "expired";

/// Why a request failed, as it is stored.
struct Failure {
    /// The code of the native dialect.
    code: String,
    message: String,
}

impl Failure {
    fn of(request: &RequestRecord) -> Self {
        let result = request.result.as_deref().unwrap_or_default();
        let error = Json::from_stored(result).ok().and_then(|result| member(result, "error"));
        let part = |key| error.and_then(|error| text(error, key));
        Self {
            code: part("code").unwrap_or_default(),
            message: part("message").unwrap_or_else(|| "the request failed".to_owned()),
        }
    }
}

/// Appends the line of one request of a batch that has ended, without its end: `custom_id` and `result`.
pub fn write_result(request: &RequestRecord, out: &mut Vec<u8>) {
    let from = out.len();
    push("{\"custom_id\":", out);
    push_string(&custom_id(request), out);
    push(",\"result\":{\"type\":", out);
    match request.summary.state.status() {
        RequestStatus::Completed => {
            push("\"succeeded\",\"message\":", out);
            Message::of(request).write(out);
        }
        RequestStatus::Cancelled => push("\"canceled\"", out),
        RequestStatus::Failed => {
            let failure = Failure::of(request);
            if failure.code == EXPIRED {
                push("\"expired\"", out);
            } else {
                push("\"errored\",\"error\":", out);
                write_error_of_request(type_of(&failure.code), &failure.message, out);
            }
        }
        RequestStatus::Registered | RequestStatus::InProgress => {
            push("\"errored\",\"error\":", out);
            write_error_of_request(API_ERROR, "the request has not ended", out);
        }
    }
    push("}}", out);
    escape_line_ends(from, out);
}

/// The `custom_id` in the metadata of a request; the identifier of one that has none.
fn custom_id(request: &RequestRecord) -> String {
    let metadata = request.client.metadata.as_deref().unwrap_or_default();
    let named = Json::from_stored(metadata).ok().and_then(|metadata| text(metadata, "custom_id"));
    named.unwrap_or_else(|| request.summary.id.to_string())
}
