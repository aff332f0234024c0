//! The result of a request: always an object with `choices` and `usage`, beside an `error` that is null or a text.

use overnight_domain::json::{Json, ObjectWriter};
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;

use crate::json::{By, EMPTY, IfSet, Value as _, members, object, push};

pub(super) fn ending(request: &RequestRecord) -> impl Fn(&mut Vec<u8>) {
    let status = request.summary.state.status();
    let result = Json::from_stored(request.result.as_deref().unwrap_or_default()).ok();
    let failure = result.filter(|_| status == RequestStatus::Failed).and_then(|it| member(it, "error"));
    let message = failure.and_then(|error| member(error, "message")).and_then(Json::decode_string);
    members! {
        "result_body": By(|out: &mut Vec<u8>| match result {
            Some(completion) if status == RequestStatus::Completed => push_completion(completion, out),
            _ => object! { "choices": EMPTY, "usage": Json::EMPTY_OBJECT, "error": IfSet(failure) }.append(out),
        }),
        "error": match status {
            RequestStatus::Cancelled => Some("cancelled"),
            RequestStatus::Failed => Some(message.as_deref().unwrap_or("failed")),
            _ => None,
        }
    }
}

/// Appends a completion without the null members of `usage`.
fn push_completion(completion: Json<'_>, out: &mut Vec<u8>) {
    match member(completion, "usage") {
        Some(usage) if has_null(usage) => push_without_null_usage(completion, out),
        _ => completion.append(out),
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
