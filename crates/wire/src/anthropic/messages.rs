//! Messages as turns: in OpenAI's API, tool results are messages of their own and calls are beside the text. Thinking is left out, because
//! no other model reads it.

use std::borrow::Cow;

use overnight_domain::faults::codes;
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, RawObject};

use super::blocks::{read_block, read_content, read_text, refuse_block};
use super::parts::Parts;
use super::path::Path;
use super::review::{Review, kind_of};
use super::turns::{Role, Turns};

/// Prefix for the result of a failed tool.
const FAILED: &str = "Error: ";

pub(super) fn read_messages(review: &mut Review, params: &RawObject<'_>) -> Turns {
    let mut turns = Turns::default();
    if let Some(system) = params.get_some("system") {
        let mut parts = Parts::default();
        read_text(review, system, &Path::Root.member("system"), &mut parts);
        if !parts.is_empty() {
            turns.say(Role::System, parts, Vec::new());
        }
    }
    let Some(messages) = review.required(params, &Path::Root, "messages") else { return turns };
    let path = Path::Root.member("messages");
    let is_list = messages.kind() == Kind::Array;
    let messages = review.elements(messages, &path, "messages");
    if is_list && messages.is_empty() {
        review.fault(&path, codes::OUT_OF_RANGE, "must hold at least one message");
    }
    for (place, message) in messages.into_iter().enumerate() {
        read_message(review, message, &path.element(place), &mut turns);
    }
    if turns.ends_with_assistant() {
        review.refuse(&path, "must not end with an assistant message: engines begin a new one");
    }
    turns
}

fn read_message(review: &mut Review, message: Json<'_>, path: &Path<'_>, turns: &mut Turns) {
    let Some(message) = review.object(message, path, &["role", "content"]) else { return };
    let role = review.string(&message, path, "role");
    let Some(content) = review.required(&message, path, "content") else { return };
    let content_path = path.member("content");
    if content.kind() == Kind::Array && content.elements().is_some_and(|mut blocks| blocks.next().is_none()) {
        review.fault(&content_path, codes::OUT_OF_RANGE, "must hold at least one content block");
        return;
    }
    match role.as_deref() {
        Some("user") => read_user(review, content, &content_path, turns),
        Some("assistant") => read_assistant(review, content, &content_path, turns),
        Some("system") => {
            let mut parts = Parts::default();
            read_text(review, content, &content_path, &mut parts);
            turns.say(Role::System, parts, Vec::new());
        }
        Some(other) => review.unknown_value(path, "role", "user or assistant", other),
        None => {}
    }
}

fn read_user(review: &mut Review, content: Json<'_>, path: &Path<'_>, turns: &mut Turns) {
    let mut parts = Parts::default();
    if content.kind() != Kind::Array {
        read_content(review, content, path, &mut parts);
        return turns.say(Role::User, parts, Vec::new());
    }
    for (place, block) in content.elements().into_iter().flatten().enumerate() {
        let path = path.element(place);
        match &*kind_of(block) {
            "tool_result" => read_result(review, block, &path, turns, &mut parts),
            _ => read_block(review, block, &path, &mut parts),
        }
    }
    if !parts.is_empty() {
        turns.say(Role::User, parts, Vec::new());
    }
}

/// Reads the result of a tool. Its media go to the next message, because most engines accept only text in a tool message.
fn read_result(review: &mut Review, block: Json<'_>, path: &Path<'_>, turns: &mut Turns, after: &mut Parts) {
    let known = ["type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"];
    let Some(object) = review.object(block, path, &known) else { return };
    let call = review.string(&object, path, "tool_use_id").map(Cow::into_owned);
    let has_failed = review.flag(&object, path, "is_error");
    let mut parts = Parts::default();
    if let Some(content) = object.get_some("content") {
        read_content(review, content, &path.member("content"), &mut parts);
    }
    let (text, media) = parts.split_media();
    after.append(media);
    if let Some(call) = call {
        let failed = if has_failed { FAILED } else { "" };
        turns.result(call, format!("{failed}{}", text.join()));
    }
}

fn read_assistant(review: &mut Review, content: Json<'_>, path: &Path<'_>, turns: &mut Turns) {
    let (mut parts, mut calls) = (Parts::default(), Vec::new());
    if content.kind() != Kind::Array {
        read_content(review, content, path, &mut parts);
        return turns.say(Role::Assistant, parts, calls);
    }
    for (place, block) in content.elements().into_iter().flatten().enumerate() {
        let path = path.element(place);
        match &*kind_of(block) {
            "text" => read_block(review, block, &path, &mut parts),
            "tool_use" => calls.extend(read_call(review, block, &path)),
            "thinking" | "redacted_thinking" => {}
            other => refuse_block(review, block, &path, other),
        }
    }
    turns.say(Role::Assistant, parts, calls);
}

fn read_call(review: &mut Review, block: Json<'_>, path: &Path<'_>) -> Option<JsonText> {
    let known = ["type", "id", "name", "input", "cache_control", "caller", "toolset_name"];
    let object = review.object(block, path, &known)?;
    let id = review.string(&object, path, "id")?;
    let name = review.string(&object, path, "name")?;
    let input = review.required(&object, path, "input")?;
    if input.kind() != Kind::Object {
        review.fault(&path.member("input"), codes::WRONG_TYPE, "must be an object");
    }
    let mut function = ObjectWriter::with_capacity(input.as_str().len() + 64);
    function.string("name", &name);
    function.string("arguments", input.as_str());
    let mut call = ObjectWriter::with_capacity(input.as_str().len() + 128);
    call.string("id", &id);
    call.string("type", "function");
    call.json("function", function.finish().as_json());
    Some(call.finish())
}
