//! A request as a response.

use overnight_domain::ids::{RequestId, ResponseId};
use overnight_domain::json::{Json, RawObject};
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::{RequestState, RequestStatus};

use super::config::{text_of, tool_choice_of, tools_of};
use super::output::{incomplete_reason, items_of, usage_of, whole_items};
use crate::json::{IfSet, NULL, Or, Second, Value, members, object};
use crate::openai::chat::TIER;

/// Appends a request as a response.
pub fn write_response(request: &RequestRecord, out: &mut Vec<u8>) {
    response(request, request.summary.state.status()).append(out);
}

/// Appends the answer to a deletion.
pub fn write_deleted(id: RequestId, out: &mut Vec<u8>) {
    object! { "id": id_of(id), "object": "response", "deleted": true }.append(out);
}

fn id_of(request: RequestId) -> ResponseId {
    ResponseId::from_bits(request.bits())
}

/// The response as it was when its request had `status`.
pub(super) fn response(request: &RequestRecord, status: RequestStatus) -> impl Value {
    let chat = Json::from_stored(&request.body).ok().and_then(Json::to_object);
    let result = request.result.as_deref().and_then(|result| Json::from_stored(result).ok()?.to_object());
    let (completion, failure) = match status {
        RequestStatus::Completed => (result, None),
        RequestStatus::Failed => (None, result),
        _ => (None, None),
    };
    let completed_at = match request.summary.state {
        RequestState::Completed { ended_at, .. } if status == RequestStatus::Completed => Some(ended_at),
        _ => None,
    };
    let reason = completion.as_ref().and_then(incomplete_reason);
    let items = completion.as_ref().map(items_of).unwrap_or_default();
    let metadata = request.client.metadata.as_deref().and_then(|metadata| Json::from_stored(metadata).ok());
    object! {
        "id": id_of(request.summary.id),
        "object": "response",
        "created_at": Second(request.summary.created_at),
        "status": name_of(status, reason),
        "completed_at": IfSet(completed_at.map(Second)),
        "error": failure.as_ref().and_then(error_of),
        "incomplete_details": reason.map(|reason| object! { "reason": reason }),
        "output": whole_items(&items, request.summary.id)[..],
        "usage": completion.as_ref().and_then(usage_of),
        "metadata": Or(metadata, Json::EMPTY_OBJECT),
        ..|out: &mut Vec<u8>| chat.iter().for_each(|chat| asked(chat)(out)),
    }
}

fn name_of(status: RequestStatus, incomplete: Option<&str>) -> &'static str {
    match status {
        RequestStatus::Registered => "queued",
        RequestStatus::InProgress => "in_progress",
        RequestStatus::Completed if incomplete.is_some() => "incomplete",
        RequestStatus::Completed => "completed",
        RequestStatus::Failed => "failed",
        RequestStatus::Cancelled => "cancelled",
    }
}

/// Two of the codes that clients know apply; the message has the details.
fn error_of(failure: &RawObject<'_>) -> Option<impl Value> {
    let error = failure.get("error")?.to_object()?;
    let is_rejected = error.get("code").and_then(Json::decode_string).as_deref() == Some("engine_rejected");
    Some(object! {
        "code": if is_rejected { "invalid_prompt" } else { "server_error" },
        "message": IfSet(error.get("message")),
        "param": IfSet(error.get("param")),
        "type": IfSet(error.get("type")),
    })
}

/// The members of the request, from its chat completion.
fn asked(chat: &RawObject<'_>) -> impl Fn(&mut Vec<u8>) {
    let some = |key: &str| chat.get_some(key);
    members! {
        "model": some("model"),
        "instructions": instructions_of(chat),
        "temperature": some("temperature"),
        "top_p": some("top_p"),
        "max_output_tokens": some("max_tokens").or_else(|| some("max_completion_tokens")),
        "previous_response_id": NULL,
        "user": some("user"),
        "parallel_tool_calls": Or(some("parallel_tool_calls"), true),
        "reasoning": object! { "effort": some("reasoning_effort"), "summary": NULL },
        "service_tier": TIER,
        "store": true,
        "text": text_of(chat),
        "tool_choice": Or(tool_choice_of(chat), "auto"),
        "tools": tools_of(chat)[..],
        "truncation": "disabled",
    }
}

/// The first system message, if it is a string: `instructions` become one.
pub(super) fn instructions_of<'a>(chat: &RawObject<'a>) -> Option<Json<'a>> {
    let first = chat.get("messages").and_then(Json::elements)?.next()?.to_object()?;
    let is_system = first.get("role").and_then(Json::decode_string).as_deref() == Some("system");
    first.get("content").filter(|content| is_system && content.decode_string().is_some())
}
