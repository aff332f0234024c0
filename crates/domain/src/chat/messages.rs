//! The messages of a body.

use super::parts::{MediaTotals, check_part};
use crate::bodies::{Path, Review};
use crate::faults::codes;
use crate::json::{Json, Kind, RawObject};

const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];

const READ: [&str; 3] = ["role", "content", "tool_calls"];

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MessageTotals {
    pub(super) message_count: usize,
    pub(super) media: MediaTotals,
}

pub(super) fn check_messages(
    review: &mut Review<'_>,
    body: &RawObject<'_>,
    path: &Path<'_>,
) -> MessageTotals {
    let mut totals = MessageTotals::default();
    let Some(value) = review.required(body, path, "messages") else { return totals };
    let path = path.member("messages");
    let Some(messages) = value.elements() else {
        review.fault(&path, codes::WRONG_TYPE, "must be an array of messages");
        return totals;
    };
    for message in messages {
        check_message(review, message, &path.element(totals.message_count), &mut totals.media);
        totals.message_count += 1;
    }
    if totals.message_count == 0 {
        review.fault(&path, codes::OUT_OF_RANGE, "must hold at least one message");
    }
    totals
}

fn check_message(review: &mut Review<'_>, message: Json<'_>, path: &Path<'_>, media: &mut MediaTotals) {
    let Some(message) = review.object(message, path) else { return };
    review.check_spelling(&message, path, &READ);
    let role = review.one_of(&message, path, "role", &ROLES);
    let content_path = path.member("content");
    let Some(content) = message.get_some("content") else {
        if role != Some("assistant") || !has_tool_calls(&message) {
            let code = if message.get("content").is_some() { codes::WRONG_TYPE } else { codes::MISSING };
            let needed =
                "is required: a string or content parts (null only beside an assistant's tool_calls)";
            review.fault(&content_path, code, needed);
        }
        return;
    };
    match content.kind() {
        Kind::String => {}
        Kind::Array => check_parts(review, content, &content_path, media),
        _ => review.fault(&content_path, codes::WRONG_TYPE, "must be a string or an array of content parts"),
    }
}

fn check_parts(review: &mut Review<'_>, parts: Json<'_>, path: &Path<'_>, media: &mut MediaTotals) {
    let mut part_count = 0;
    for part in parts.elements().into_iter().flatten() {
        check_part(review, part, &path.element(part_count), media);
        part_count += 1;
    }
    if part_count == 0 {
        review.fault(path, codes::OUT_OF_RANGE, "must hold at least one content part");
    }
}

fn has_tool_calls(message: &RawObject<'_>) -> bool {
    let calls = message.get("tool_calls").and_then(Json::elements);
    calls.is_some_and(|mut calls| calls.next().is_some())
}
