//! The params of a message as the body of a chat completion.

use overnight_domain::faults::{Faults, Quoted, codes};
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, RawObject, quote};

use super::messages::read_messages;
use super::path::Path;
use super::review::Review;
use super::tools::write_tools;

/// Copied under the same name; the native dialect checks them.
const COPIED: [&str; 4] = ["model", "max_tokens", "temperature", "top_p"];

const READ: [&str; 12] = [
    "system",
    "messages",
    "tools",
    "tool_choice",
    "top_k",
    "stop_sequences",
    "metadata",
    "output_config",
    "output_format",
    "thinking",
    "speed",
    "stream",
];

/// Accepted without effect: they steer a cache, service order or diagnosis that does not exist here, and change no answer.
const IGNORED: [&str; 3] = ["cache_control", "service_tier", "diagnostics"];

/// Known but unsupported, with the message of the refusal.
const REFUSED: [(&str, &str); 6] = [
    ("container", "must be null: there are no containers and no skills here"),
    ("context_management", "must be null: nothing is taken out of a conversation here"),
    ("fallbacks", "must be null: no other model answers here"),
    ("inference_geo", "must be null: the operator of this service chooses where models run"),
    ("mcp_servers", "must be null: nothing calls MCP servers here"),
    ("user_profile_id", "must be null: there are no user profiles here"),
];

/// The efforts that OpenAI's `reasoning_effort` also has.
const EFFORTS: [&str; 3] = ["low", "medium", "high"];

/// The name of a schema in `response_format`.
const SCHEMA_NAME: &str = "output";

const NO_STREAM: &str = "must not be true in a batch: its results are whole";

/// A chat completion and the origins of its content parts.
pub(super) struct Translated {
    pub(super) chat: JsonText,
    /// For each message, the paths of the blocks from which its content parts were made; empty if its content is a string.
    pub(super) origins: Vec<Vec<String>>,
}

/// Converts the params of a message to the body of Create Request. Reports every fault with Anthropic's path, such as
/// `messages.0.content.1.source`.
#[allow(clippy::needless_pass_by_value, reason = "a dialect's reading takes the text")]
pub fn to_native(params: JsonText) -> Result<JsonText, Faults> {
    let chat = to_chat(params.as_json())?;
    let mut create = ObjectWriter::with_capacity(chat.as_str().len() + 20);
    create.json("request_body", chat.as_json());
    Ok(create.finish())
}

/// Converts the params of a message to the body of a chat completion. Fails like [`to_native`].
pub fn to_chat(params: Json<'_>) -> Result<JsonText, Faults> {
    translate(params).map(|translated| translated.chat)
}

/// Like [`to_chat`], but for params in a batch, which refuse `stream`.
pub fn to_chat_in_batch(params: Json<'_>) -> Result<JsonText, Faults> {
    let chat = to_chat(params)?;
    if asks_for_stream(params) {
        let mut faults = Faults::default();
        faults.push("stream", codes::NOT_ALLOWED, NO_STREAM);
        return Err(faults);
    }
    Ok(chat)
}

/// Whether the params ask for a stream of events.
pub fn asks_for_stream(params: Json<'_>) -> bool {
    let mut members = params.members().into_iter().flatten();
    members.any(|member| member.key() == "stream" && member.value.as_str() == "true")
}

pub(super) fn translate(params: Json<'_>) -> Result<Translated, Faults> {
    let mut review = Review::default();
    let known: Vec<&str> =
        COPIED.into_iter().chain(READ).chain(IGNORED).chain(REFUSED.map(|(key, _)| key)).collect();
    let Some(object) = review.object(params, &Path::Root, &known) else { return Err(review.faults) };
    let mut chat = ObjectWriter::with_capacity(params.as_str().len() + 256);
    for key in COPIED {
        if let Some(value) = object.get_some(key) {
            chat.json(key, value);
        }
    }
    for key in ["model", "max_tokens"] {
        review.required(&object, &Path::Root, key);
    }
    let turns = read_messages(&mut review, &object);
    let (messages, origins) = turns.write();
    chat.array("messages", messages.iter().map(JsonText::as_json));
    write_tools(&mut review, &object, &mut chat);
    write_top_k(&mut review, &object, &mut chat);
    write_stop(&mut review, &object, &mut chat);
    write_user(&mut review, &object, &mut chat);
    write_output(&mut review, &object, &mut chat);
    refuse_the_rest(&mut review, &object);
    if review.faults.is_empty() {
        Ok(Translated { chat: chat.finish(), origins })
    } else {
        Err(review.faults)
    }
}

fn write_top_k(review: &mut Review, params: &RawObject<'_>, chat: &mut ObjectWriter) {
    let Some(value) = params.get_some("top_k") else { return };
    if value.as_integer_text().is_some_and(|text| text.parse::<u32>().is_ok()) {
        chat.json("top_k", value);
    } else {
        let message = "must be an integer of at least 0";
        review.fault(&Path::Root.member("top_k"), codes::WRONG_TYPE, message);
    }
}

fn write_stop(review: &mut Review, params: &RawObject<'_>, chat: &mut ObjectWriter) {
    let Some(value) = params.get_some("stop_sequences") else { return };
    let path = Path::Root.member("stop_sequences");
    let sequences = review.elements(value, &path, "strings");
    for (place, sequence) in sequences.iter().enumerate() {
        review.text(*sequence, &path.element(place));
    }
    if !sequences.is_empty() {
        chat.array("stop", sequences.into_iter());
    }
}

fn write_user(review: &mut Review, params: &RawObject<'_>, chat: &mut ObjectWriter) {
    let Some(value) = params.get_some("metadata") else { return };
    let path = Path::Root.member("metadata");
    let Some(metadata) = review.object(value, &path, &["user_id"]) else { return };
    if let Some(user) = review.optional_string(&metadata, &path, "user_id") {
        chat.string("user", &user);
    }
}

/// Writes the answer's format, which earlier clients send as `output_format`, and the effort.
fn write_output(review: &mut Review, params: &RawObject<'_>, chat: &mut ObjectWriter) {
    let earlier = params.get_some("output_format");
    if let Some(format) = earlier {
        write_format(review, format, &Path::Root.member("output_format"), chat);
    }
    let Some(value) = params.get_some("output_config") else { return };
    let path = Path::Root.member("output_config");
    let Some(config) = review.object(value, &path, &["effort", "format"]) else { return };
    if let Some(effort) = review.optional_string(&config, &path, "effort") {
        if EFFORTS.contains(&effort.as_ref()) {
            chat.string("reasoning_effort", &effort);
        } else {
            review.unknown_value(&path, "effort", &format!("one of {}", EFFORTS.join(", ")), &effort);
        }
    }
    let Some(format) = config.get_some("format") else { return };
    let path = path.member("format");
    if earlier.is_some() {
        review.fault(&path, codes::CONFLICT, "and output_format exclude each other");
    } else {
        write_format(review, format, &path, chat);
    }
}

fn write_format(review: &mut Review, format: Json<'_>, path: &Path<'_>, chat: &mut ObjectWriter) {
    let Some(format) = review.object(format, path, &["type", "schema"]) else { return };
    let Some(kind) = review.string(&format, path, "type") else { return };
    if kind != "json_schema" {
        return review.unknown_value(path, "type", "json_schema", &kind);
    }
    let Some(schema) = review.required(&format, path, "schema") else { return };
    if schema.kind() != Kind::Object {
        review.fault(&path.member("schema"), codes::WRONG_TYPE, "must be an object");
    }
    let mut inner = ObjectWriter::with_capacity(schema.as_str().len() + 64);
    inner.string("name", SCHEMA_NAME);
    inner.json("schema", schema);
    let mut written = ObjectWriter::with_capacity(schema.as_str().len() + 128);
    written.string("type", "json_schema");
    written.json("json_schema", inner.finish().as_json());
    chat.json("response_format", written.finish().as_json());
}

fn refuse_the_rest(review: &mut Review, params: &RawObject<'_>) {
    for (key, reason) in REFUSED {
        if params.get_some(key).is_some() {
            review.refuse(&Path::Root.member(key), reason);
        }
    }
    review.flag(params, &Path::Root, "stream");
    if let Some(speed) = params.get_some("speed").filter(|speed| speed.as_str() != quote("standard")) {
        let path = Path::Root.member("speed");
        review.refuse(&path, format_args!("must be standard, not {}", Quoted(speed.as_str())));
    }
    let Some(thinking) = params.get_some("thinking") else { return };
    let kind = super::review::kind_of(thinking);
    if kind != "disabled" {
        let path = Path::Root.member("thinking");
        let message = "must be disabled: what a model thinks is not shown here, and no budget is kept for it";
        review.refuse(&path.member("type"), message);
    }
}
