//! A request as a response.

use overnight_domain::ids::{RequestId, ResponseId};
use overnight_domain::json::{Json, JsonText, ObjectWriter, RawObject};
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::{RequestState, RequestStatus};

use super::config::{text_of, tools_of, write_tool_choice_of};
use super::output::{incomplete_reason, items_of, usage_of, write_items};
use crate::json::push;
use crate::openai::chat::TIER;

/// Appends the response that a request is.
pub fn write_response(request: &RequestRecord, out: &mut Vec<u8>) {
    push(response(request, request.summary.state.status()).as_str(), out);
}

/// Appends what is answered once a response was deleted.
pub fn write_deleted(id: RequestId, out: &mut Vec<u8>) {
    let mut deleted = ObjectWriter::with_capacity(96);
    deleted.string("id", &id_of(id).to_string());
    deleted.string("object", "response");
    deleted.boolean("deleted", true);
    push(deleted.finish().as_str(), out);
}

/// The identifier of the response that a request is.
fn id_of(request: RequestId) -> ResponseId {
    ResponseId::from_bits(request.bits())
}

/// The response as it is, or was when its request had this status and no result.
pub(super) fn response(request: &RequestRecord, status: RequestStatus) -> JsonText {
    let chat = Json::from_stored(&request.body).ok().and_then(Json::to_object);
    let result = request.result.as_deref().and_then(|result| Json::from_stored(result).ok()?.to_object());
    let completion = result.as_ref().filter(|_| status == RequestStatus::Completed);
    let failure = result.as_ref().filter(|_| status == RequestStatus::Failed);
    let mut out = ObjectWriter::with_capacity(1024);
    out.string("id", &id_of(request.summary.id).to_string());
    out.string("object", "response");
    out.integer("created_at", request.summary.created_at.div_euclid(1_000));
    let reason = completion.and_then(incomplete_reason);
    out.string("status", name_of(status, reason));
    if let (RequestStatus::Completed, RequestState::Completed { ended_at, .. }) =
        (status, request.summary.state)
    {
        out.integer("completed_at", ended_at.div_euclid(1_000));
    }
    write_error(failure, &mut out);
    match reason {
        Some(reason) => {
            let mut details = ObjectWriter::with_capacity(48);
            details.string("reason", reason);
            out.json("incomplete_details", details.finish().as_json());
        }
        None => out.null("incomplete_details"),
    }
    let items = completion.map(items_of).unwrap_or_default();
    out.json("output", write_items(&items, request.summary.id).as_json());
    match completion.and_then(usage_of) {
        Some(usage) => out.json("usage", usage.as_json()),
        None => out.null("usage"),
    }
    let metadata = request.client.metadata.as_deref().and_then(|metadata| Json::from_stored(metadata).ok());
    out.json("metadata", metadata.unwrap_or(Json::EMPTY_OBJECT));
    if let Some(chat) = &chat {
        write_asked(chat, &mut out);
    }
    out.finish()
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

/// These clients know two codes that fit; the message says the rest.
fn write_error(failure: Option<&RawObject<'_>>, out: &mut ObjectWriter) {
    let error = failure.and_then(|failure| failure.get("error")?.to_object());
    let Some(error) = error else { return out.null("error") };
    let code = error.get("code").and_then(Json::decode_string);
    let mut writer = ObjectWriter::with_capacity(256);
    let is_rejected = code.as_deref() == Some("engine_rejected");
    writer.string("code", if is_rejected { "invalid_prompt" } else { "server_error" });
    for key in ["message", "param", "type"] {
        if let Some(value) = error.get(key) {
            writer.json(key, value);
        }
    }
    out.json("error", writer.finish().as_json());
}

/// What was asked for, from the chat completion that it became.
fn write_asked(chat: &RawObject<'_>, out: &mut ObjectWriter) {
    let copied = [
        ("model", "model"),
        ("instructions", ""),
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("max_output_tokens", "max_tokens"),
        ("previous_response_id", ""),
        ("user", "user"),
    ];
    for (key, from) in copied {
        let value = match key {
            "instructions" => instructions_of(chat),
            "max_output_tokens" => chat.get_some(from).or_else(|| chat.get_some("max_completion_tokens")),
            _ => chat.get_some(from),
        };
        match value {
            Some(value) => out.json(key, value),
            None => out.null(key),
        }
    }
    match chat.get_some("parallel_tool_calls") {
        Some(value) => out.json("parallel_tool_calls", value),
        None => out.boolean("parallel_tool_calls", true),
    }
    let mut reasoning = ObjectWriter::with_capacity(64);
    match chat.get_some("reasoning_effort") {
        Some(effort) => reasoning.json("effort", effort),
        None => reasoning.null("effort"),
    }
    reasoning.null("summary");
    out.json("reasoning", reasoning.finish().as_json());
    out.string("service_tier", TIER);
    out.boolean("store", true);
    out.json("text", text_of(chat).as_json());
    write_tool_choice_of(chat, out);
    let tools = tools_of(chat);
    out.array("tools", tools.iter().map(JsonText::as_json));
    out.string("truncation", "disabled");
}

/// What the system says first, if it is a string: `instructions` become that.
pub(super) fn instructions_of<'a>(chat: &RawObject<'a>) -> Option<Json<'a>> {
    let first = chat.get("messages").and_then(Json::elements)?.next()?.to_object()?;
    let is_system = first.get("role").and_then(Json::decode_string).as_deref() == Some("system");
    first.get("content").filter(|content| is_system && content.decode_string().is_some())
}
