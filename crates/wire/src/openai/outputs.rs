//! The lines of the files that are read of a batch.

use std::borrow::Cow;

use overnight_domain::files::Endpoint;
use overnight_domain::json::Json;
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;

use super::responses::write_response;
use crate::json::{push, push_id, push_integer, push_key, push_string};

/// Appends the line of a request that completed, in the file of answers.
pub fn write_answer(request: &RequestRecord, out: &mut Vec<u8>) {
    push_head(request, out);
    push_response(request, 200, out);
    push(",\"error\":null}", out);
}

/// Appends the line of a request that completed, as the response that it is.
pub fn write_response_answer(request: &RequestRecord, out: &mut Vec<u8>) {
    push_head(request, out);
    push_response_head(request, 200, out);
    write_response(request, out);
    push("},\"error\":null}", out);
}

/// Appends the line of a request that failed or was cancelled, in the file of errors. What the engine said stands in `response`, what the
/// service did in `error`.
pub fn write_error(request: &RequestRecord, out: &mut Vec<u8>) {
    push_head(request, out);
    let error = Error::of(request);
    match error.status() {
        Some(status) => {
            push_response(request, status, out);
            push(",\"error\":null}", out);
        }
        None => {
            push(",\"response\":null,\"error\":{\"code\":", out);
            push_string(&error.code, out);
            push_key("message", out);
            push_string(&error.message, out);
            push("}}", out);
        }
    }
}

/// Appends the line that asks for a request, in the file of a batch that was made of no file.
pub fn write_input(request: &RequestRecord, out: &mut Vec<u8>) {
    push("{\"custom_id\":", out);
    push_custom_id(request, out);
    push(",\"method\":\"POST\",\"url\":", out);
    push_string(Endpoint::ChatCompletions.as_str(), out);
    push_key("body", out);
    out.extend_from_slice(&request.body);
    push("}", out);
}

fn push_head(request: &RequestRecord, out: &mut Vec<u8>) {
    push("{\"id\":", out);
    push_id(request.summary.id, out);
    push_key("custom_id", out);
    push_custom_id(request, out);
}

/// `custom_id` of the request's metadata, or its identifier where it has none.
fn push_custom_id(request: &RequestRecord, out: &mut Vec<u8>) {
    let metadata = request.client.metadata.as_deref().and_then(|metadata| Json::from_stored(metadata).ok());
    let custom_id = metadata
        .and_then(|metadata| metadata.members()?.find(|member| member.key() == "custom_id"))
        .map(|member| member.value)
        .filter(|value| value.decode_string().is_some());
    match custom_id {
        Some(custom_id) => push(custom_id.as_str(), out),
        None => push_id(request.summary.id, out),
    }
}

fn push_response_head(request: &RequestRecord, status: i64, out: &mut Vec<u8>) {
    push(",\"response\":{\"status_code\":", out);
    push_integer(status, out);
    push_key("request_id", out);
    push_id(request.summary.id, out);
    push_key("body", out);
}

fn push_response(request: &RequestRecord, status: i64, out: &mut Vec<u8>) {
    push_response_head(request, status, out);
    out.extend_from_slice(request.result.as_deref().unwrap_or(b"{}"));
    push("}", out);
}

/// Why a request has no answer.
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

    /// The status of an engine that refused the request or could not do it; `None` where no engine was the reason.
    fn status(&self) -> Option<i64> {
        match &*self.code {
            "engine_rejected" => Some(400),
            "engine_unavailable" => Some(503),
            "engine_invalid_response" => Some(502),
            _ => None,
        }
    }
}

fn member<'a>(object: Json<'a>, key: &str) -> Option<Json<'a>> {
    object.members()?.find(|member| member.key() == key).map(|member| member.value)
}
