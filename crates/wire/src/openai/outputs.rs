//! The lines of a batch's files.

use std::borrow::Cow;

use overnight_domain::json::Json;
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;

use super::responses::write_response;
use crate::json::{By, NULL, Or, Raw, Value, members, object};

/// Appends the line of a completed request to the output file.
pub fn write_answer(request: &RequestRecord, out: &mut Vec<u8>) {
    object! { ..head(request), "response": response(request, 200, result(request)), "error": NULL }
        .append(out);
}

/// Appends the line of a completed request as a response.
pub fn write_response_answer(request: &RequestRecord, out: &mut Vec<u8>) {
    let body = By(|out: &mut Vec<u8>| write_response(request, out));
    object! { ..head(request), "response": response(request, 200, body), "error": NULL }.append(out);
}

/// Appends the line of a failed or cancelled request to the error file. `response` holds an engine's refusal, `error` a failure in the
/// service.
pub fn write_error(request: &RequestRecord, out: &mut Vec<u8>) {
    let Error { code, message } = &Error::of(request);
    let status = status_of(code);
    object! {
        ..head(request),
        "response": status.map(|status| response(request, status, result(request))),
        "error": status.is_none().then_some(object! { "code": **code, "message": **message }),
    }
    .append(out);
}

/// Appends the line that creates a request, for the input file of a batch without an uploaded file.
pub fn write_input(request: &RequestRecord, out: &mut Vec<u8>) {
    object! {
        "custom_id": custom_id(request),
        "method": "POST",
        "url": request.endpoint.as_str(),
        "body": Raw(&request.body),
    }
    .append(out);
}

fn head(request: &RequestRecord) -> impl Fn(&mut Vec<u8>) {
    members! { "id": request.summary.id, "custom_id": custom_id(request) }
}

/// The `custom_id` in the metadata of a request, or the request's identifier.
fn custom_id(request: &RequestRecord) -> impl Value {
    let metadata = request.client.metadata.as_deref().and_then(|metadata| Json::from_stored(metadata).ok());
    let custom_id = metadata
        .and_then(|metadata| member(metadata, "custom_id"))
        .filter(|value| value.decode_string().is_some());
    Or(custom_id, request.summary.id)
}

fn response(request: &RequestRecord, status: i64, body: impl Value) -> impl Value {
    object! { "status_code": status, "request_id": request.summary.id, "body": body }
}

fn result(request: &RequestRecord) -> Raw<'_> {
    Raw(request.result.as_deref().unwrap_or(b"{}"))
}

struct Error<'a> {
    code: Cow<'a, str>,
    message: Cow<'a, str>,
}

impl<'a> Error<'a> {
    fn of(request: &'a RequestRecord) -> Self {
        if request.summary.state.status() == RequestStatus::Cancelled {
            let message = "the request was cancelled before it was done".into();
            return Self { code: "batch_cancelled".into(), message };
        }
        let result = request.result.as_deref().and_then(|result| Json::from_stored(result).ok());
        let error = result.and_then(|result| member(result, "error"));
        let text = |key| error.and_then(|error| member(error, key)).and_then(Json::decode_string);
        match text("code").unwrap_or_default() {
            code if code == "expired" => {
                Self { code: "batch_expired".into(), message: text("message").unwrap_or_default() }
            }
            code => Self { code, message: text("message").unwrap_or_default() },
        }
    }
}

/// The HTTP status of an engine's refusal or failure, by its code; `None` if no engine was the reason.
fn status_of(code: &str) -> Option<i64> {
    match code {
        "engine_rejected" => Some(400),
        "engine_unavailable" => Some(503),
        "engine_invalid_response" => Some(502),
        _ => None,
    }
}

fn member<'a>(object: Json<'a>, key: &str) -> Option<Json<'a>> {
    object.members()?.find(|member| member.key() == key).map(|member| member.value)
}
