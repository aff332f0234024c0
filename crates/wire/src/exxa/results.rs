//! What a request ended with: always an object with `choices` and `usage`, and beside it an error that is null or a text.

use overnight_domain::json::{Json, ObjectWriter};
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;

use crate::json::{push, push_key, push_string};

/// The error of a request that was cancelled.
const CANCELLED: &str = "cancelled";

/// Appends `result_body` and `error`.
pub(super) fn push_result(request: &RequestRecord, out: &mut Vec<u8>) {
    let result = request.result.as_deref().unwrap_or_default();
    push_key("result_body", out);
    match request.summary.state.status() {
        RequestStatus::Completed => push_completion(result, out),
        RequestStatus::Failed => return push_failure(result, out),
        _ => push_empty(None, out),
    }
    push_key("error", out);
    match request.summary.state.status() {
        RequestStatus::Cancelled => push_string(CANCELLED, out),
        _ => push("null", out),
    }
}

fn push_failure(result: &[u8], out: &mut Vec<u8>) {
    let error = Json::from_stored(result).ok().and_then(|result| member(result, "error"));
    let message = error.and_then(|error| member(error, "message")).and_then(Json::decode_string);
    push_empty(error, out);
    push_key("error", out);
    push_string(message.as_deref().unwrap_or("failed"), out);
}

/// A completion without choices.
fn push_empty(error: Option<Json<'_>>, out: &mut Vec<u8>) {
    push("{\"choices\":[],\"usage\":{}", out);
    if let Some(error) = error {
        push_key("error", out);
        push(error.as_str(), out);
    }
    out.push(b'}');
}

/// A completion without the members of `usage` that are null.
fn push_completion(result: &[u8], out: &mut Vec<u8>) {
    let completion = Json::from_stored(result).ok();
    match completion.and_then(|completion| member(completion, "usage").map(|usage| (completion, usage))) {
        Some((completion, usage)) if has_null(usage) => push_without_null_usage(completion, out),
        _ => out.extend_from_slice(result),
    }
}

fn push_without_null_usage(completion: Json<'_>, out: &mut Vec<u8>) {
    let mut writer = ObjectWriter::with_capacity(completion.as_str().len());
    for part in completion.members().into_iter().flatten() {
        if part.key() == "usage" {
            let mut usage = ObjectWriter::with_capacity(part.value.as_str().len());
            let counts = part.value.members().into_iter().flatten();
            counts
                .filter(|count| !count.value.is_null())
                .for_each(|count| usage.copy(count.raw_key, count.value));
            writer.copy(part.raw_key, usage.finish().as_json());
        } else {
            writer.copy(part.raw_key, part.value);
        }
    }
    push(writer.finish().as_str(), out);
}

fn has_null(usage: Json<'_>) -> bool {
    usage.members().into_iter().flatten().any(|count| count.value.is_null())
}

fn member<'a>(object: Json<'a>, key: &str) -> Option<Json<'a>> {
    object.members()?.find(|member| member.key() == key).map(|member| member.value)
}
