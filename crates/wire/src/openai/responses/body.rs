//! The body of Create Response, as a chat completion.

use overnight_domain::faults::{Faults, Quoted, codes};
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, RawObject};

use super::{config, input};
use crate::openai::chat::{check_tier, read_flag};

/// Members that steer the delivery of the answer or address OpenAI's own service. [`Delivery::read`] reads them; they are not stored.
const STEERING: [&str; 11] = [
    "stream",
    "stream_options",
    "background",
    "service_tier",
    "store",
    "include",
    "truncation",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
];

const WHOLE_INPUT: &str = "is not supported: send the whole conversation in input";
const NO_BUILT_IN_TOOLS: &str = "is not supported: there are no built-in tools";

/// Members that are refused unless null, with the reason. Unknown members pass to the engine unread.
const UNSUPPORTED: [(&str, &str); 18] = [
    ("access_programs", "is not supported"),
    ("background_options", "is not supported: every request has a completion window of 24 hours"),
    ("context_management", "is not supported: nothing is compacted here"),
    ("conversation", WHOLE_INPUT),
    ("functions", "is not a member of a response: use tools"),
    ("image", "is not supported"),
    ("max_completion_tokens", "is not a member of a response: use max_output_tokens"),
    ("max_tokens", "is not a member of a response: use max_output_tokens"),
    ("max_tool_calls", NO_BUILT_IN_TOOLS),
    ("messages", "is not a member of a response: use input"),
    ("moderation", "is not supported: nothing is moderated here"),
    ("n", "is not supported: a response is one answer"),
    ("previous_response_id", WHOLE_INPUT),
    ("prompt", "is not supported: no prompts are kept here"),
    ("reasoning_effort", "is not a member of a response: use reasoning.effort"),
    ("response_format", "is not a member of a response: use text.format"),
    ("top_logprobs", "is not supported: use chat completions"),
    ("logprobs", "is not supported: use chat completions"),
];

/// How the answer is delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivery {
    /// As a stream of events.
    pub is_stream: bool,
    /// Immediately, before the request has ended.
    pub is_background: bool,
}

impl Delivery {
    /// Reads it from the body of a call. A body that is not an object has the defaults, because [`to_native`] leaves it to be refused.
    /// Fails with the faults of members that [`to_native`] does not read.
    pub fn read(body: Json<'_>) -> Result<Self, Faults> {
        let mut faults = Faults::default();
        let Some(body) = body.to_object() else { return Ok(Self::default()) };
        let is_stream = read_flag(&body, "stream", "stream", &mut faults);
        let is_background = read_flag(&body, "background", "background", &mut faults);
        read_flag(&body, "store", "store", &mut faults);
        check_tier(&body, &mut faults);
        if body.get("store").is_some_and(|store| store.as_str() == "false") {
            let message = "cannot be false: a request is kept until it is deleted or its retention is over";
            faults.push("store", codes::NOT_ALLOWED, message);
        }
        if body.get_some("include").is_some_and(|include| include.as_str() != "[]") {
            faults.push("include", codes::NOT_ALLOWED, "is not supported: nothing more can be included");
        }
        let truncation = body.get_some("truncation").map(Json::decode_string);
        if truncation.is_some_and(|truncation| truncation.as_deref() != Some("disabled")) {
            faults.push("truncation", codes::NOT_ALLOWED, "must be \"disabled\": no input is left out");
        }
        if faults.is_empty() { Ok(Self { is_stream, is_background }) } else { Err(faults) }
    }
}

/// A chat completion made from the body of Create Response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatCall {
    /// The body of the chat completion.
    pub body: JsonText,
    /// The metadata that the client sent; `None` also if it was null.
    pub metadata: Option<JsonText>,
}

/// Converts the body of a response to a chat completion, without the members that steer the delivery. Fails with every unsupported member,
/// item and part, by its path in the body.
pub fn chat_call(body: Json<'_>) -> Result<ChatCall, Faults> {
    let mut faults = Faults::default();
    let Some(object) = body.to_object() else {
        faults.push("", codes::WRONG_TYPE, "must be a JSON object");
        return Err(faults);
    };
    for key in object.duplicate_keys() {
        faults.push(Quoted(key), codes::DUPLICATE_KEY, "stands more than once in its object");
    }
    for (key, reason) in UNSUPPORTED {
        if object.get_some(key).is_some() {
            faults.push(key, codes::NOT_ALLOWED, reason);
        }
    }
    let mut chat = ObjectWriter::with_capacity(body.as_str().len() + 256);
    write_messages(&object, &mut chat, &mut faults);
    for (key, value) in object.members().iter().filter(|(_, value)| !value.is_null()) {
        write_member(key, *value, &mut chat, &mut faults);
    }
    let metadata = object.get_some("metadata").map(Json::to_text);
    if faults.is_empty() { Ok(ChatCall { body: chat.finish(), metadata }) } else { Err(faults) }
}

/// Converts a body to the native Create Request. A body that is not an object stays unchanged, because the native checks refuse it. Fails
/// like [`chat_call`].
pub fn to_native(body: JsonText) -> Result<JsonText, Faults> {
    if body.as_json().kind() != Kind::Object {
        return Ok(body);
    }
    let ChatCall { body, metadata } = chat_call(body.as_json())?;
    let mut native = ObjectWriter::with_capacity(body.as_str().len() + 256);
    native.json("request_body", body.as_json());
    if let Some(metadata) = metadata {
        native.json("metadata", metadata.as_json());
    }
    Ok(native.finish())
}

fn write_messages(object: &RawObject<'_>, chat: &mut ObjectWriter, faults: &mut Faults) {
    let mut messages = input::Messages::default();
    if let Some(instructions) = object.get_some("instructions") {
        match instructions.kind() {
            Kind::String => messages.say("system", instructions),
            _ => faults.push("instructions", codes::WRONG_TYPE, "must be a string"),
        }
    }
    match object.get_some("input") {
        None => faults.push("input", codes::MISSING, "is required: a string or an array of items"),
        Some(input) => messages.read_input(input, faults),
    }
    let messages = messages.finish();
    chat.array("messages", messages.iter().map(JsonText::as_json));
}

fn write_member(key: &str, value: Json<'_>, chat: &mut ObjectWriter, faults: &mut Faults) {
    match key {
        "input" | "instructions" | "metadata" => {}
        "max_output_tokens" => chat.json("max_tokens", value),
        "text" => config::write_text(value, chat, faults),
        "reasoning" => config::write_reasoning(value, chat, faults),
        "tools" => config::write_tools(value, chat, faults),
        "tool_choice" => config::write_tool_choice(value, chat, faults),
        _ if STEERING.contains(&key) || UNSUPPORTED.iter().any(|(name, _)| *name == key) => {}
        _ => chat.json(key, value),
    }
}
