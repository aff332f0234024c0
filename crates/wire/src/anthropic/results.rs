//! Results of the requests of a batch.

use overnight_domain::json::Json;
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;

use super::answers::{Message, member, text};
use super::errors::{API_ERROR, error, type_of};
use crate::json::{By, Value as _, escape_line_ends, object};

/// The native code of a request whose completion window has passed.
const EXPIRED: &str = "expired";

struct Failure {
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

/// Appends the result line of an ended request, without a line break: `custom_id` and `result`.
pub fn write_result(request: &RequestRecord, out: &mut Vec<u8>) {
    let from = out.len();
    let result = By(|out: &mut Vec<u8>| match request.summary.state.status() {
        RequestStatus::Completed => {
            object! { "type": "succeeded", "message": Message::of(request) }.append(out);
        }
        RequestStatus::Cancelled => object! { "type": "canceled" }.append(out),
        RequestStatus::Failed => match &Failure::of(request) {
            Failure { code, .. } if code == EXPIRED => object! { "type": "expired" }.append(out),
            Failure { code, message } => write_errored(type_of(code), message, out),
        },
        RequestStatus::Registered | RequestStatus::InProgress => {
            write_errored(API_ERROR, "the request has not ended", out);
        }
    });
    object! { "custom_id": custom_id(request), "result": result }.append(out);
    escape_line_ends(from, out);
}

fn write_errored(kind: &str, message: &str, out: &mut Vec<u8>) {
    object! { "type": "errored", "error": error(kind, message, None) }.append(out);
}

/// The `custom_id` in the metadata of a request, or the request's identifier.
fn custom_id(request: &RequestRecord) -> String {
    let metadata = request.client.metadata.as_deref().unwrap_or_default();
    let named = Json::from_stored(metadata).ok().and_then(|metadata| text(metadata, "custom_id"));
    named.unwrap_or_else(|| request.summary.id.to_string())
}
