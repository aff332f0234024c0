//! The answer of a model as a message.

use overnight_domain::ids::{MessageId, RequestId};
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, minimize};
use overnight_domain::records::RequestRecord;

use crate::json::{NULL, Value, members, object};

/// The key that holds the arguments of a call if they are not a JSON object.
const INVALID_ARGUMENTS: &str = "INVALID_JSON";

/// The answer of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub(super) id: MessageId,
    pub(super) model: String,
    pub(super) content: Vec<Block>,
    pub(super) stop_reason: &'static str,
    pub(super) stop_sequence: Option<String>,
    pub(super) usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    Text(String),
    ToolUse { id: String, name: String, input: JsonText },
}

/// Tokens as Anthropic counts them: the input excludes cached tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) input_tokens: i64,
    pub(super) cache_read_input_tokens: Option<i64>,
    pub(super) output_tokens: i64,
}

impl Message {
    /// The message of a request that completed: its first choice.
    pub fn of(request: &RequestRecord) -> Self {
        let stops = stop_sequences(&request.body);
        let result = request.result.as_deref().unwrap_or_default();
        let completion = Json::from_stored(result).ok();
        let choice = completion.and_then(|completion| member(completion, "choices")?.elements()?.next());
        let message = choice.and_then(|choice| member(choice, "message"));
        let content = message.map(|message| blocks(request.summary.id, message)).unwrap_or_default();
        let stop_sequence = choice.and_then(|choice| matched(choice, &stops));
        let finish = choice.and_then(|choice| text(choice, "finish_reason"));
        let is_refusal = message.is_some_and(|message| text(message, "refusal").is_some());
        let calls = content.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        let stop_reason = match finish.as_deref() {
            Some("length") => "max_tokens",
            Some("content_filter") => "refusal",
            _ if calls => "tool_use",
            _ if is_refusal => "refusal",
            _ if stop_sequence.is_some() => "stop_sequence",
            _ => "end_turn",
        };
        Self {
            id: request.summary.id.renamed(),
            model: completion.and_then(|completion| text(completion, "model")).unwrap_or_default(),
            content,
            stop_reason,
            stop_sequence: stop_sequence.filter(|_| stop_reason == "stop_sequence"),
            usage: Usage::of(completion.and_then(|completion| member(completion, "usage"))),
        }
    }

    /// Appends it as JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.append(out);
    }

    pub(super) fn head(&self) -> impl Fn(&mut Vec<u8>) {
        members! { "id": self.id, "type": "message", "role": "assistant", "model": self.model }
    }
}

impl Value for Message {
    fn append(&self, out: &mut Vec<u8>) {
        object! {
            ..self.head(),
            "content": self.content[..],
            "stop_reason": self.stop_reason,
            "stop_sequence": self.stop_sequence.as_ref(),
            "usage": self.usage,
        }
        .append(out);
    }
}

impl Value for Block {
    fn append(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => object! { "type": "text", "text": text, "citations": NULL }.append(out),
            Self::ToolUse { id, name, input } => {
                object! { "type": "tool_use", "id": id, "name": name, "input": input.as_json() }.append(out);
            }
        }
    }
}

impl Usage {
    fn of(usage: Option<Json<'_>>) -> Self {
        let count = |object: Json<'_>, key: &str| member(object, key)?.as_integer_text()?.parse::<i64>().ok();
        let prompt = usage.and_then(|usage| count(usage, "prompt_tokens")).unwrap_or(0);
        let cached = usage.and_then(|usage| count(member(usage, "prompt_tokens_details")?, "cached_tokens"));
        let cached = cached.map(|cached| cached.clamp(0, prompt));
        Self {
            input_tokens: prompt - cached.unwrap_or(0),
            cache_read_input_tokens: cached,
            output_tokens: usage.and_then(|usage| count(usage, "completion_tokens")).unwrap_or(0),
        }
    }
}

impl Value for Usage {
    fn append(&self, out: &mut Vec<u8>) {
        object! {
            "input_tokens": self.input_tokens,
            "cache_creation_input_tokens": NULL,
            "cache_read_input_tokens": self.cache_read_input_tokens,
            "output_tokens": self.output_tokens,
        }
        .append(out);
    }
}

/// The text and the tool calls of an engine's message.
fn blocks(request: RequestId, message: Json<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let content = member(message, "content");
    let said = content.and_then(|content| match content.kind() {
        Kind::Array => Some(content.elements()?.filter_map(|part| text(part, "text")).collect()),
        _ => content.decode_string().map(String::from),
    });
    let said = said.filter(|said: &String| !said.is_empty()).or_else(|| text(message, "refusal"));
    blocks.extend(said.map(Block::Text));
    let calls = member(message, "tool_calls").and_then(Json::elements).into_iter().flatten();
    for (place, call) in calls.enumerate() {
        let Some(function) = member(call, "function") else { continue };
        let name = text(function, "name").unwrap_or_default();
        let id = text(call, "id").filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| format!("toolu_{request}_{place}"));
        blocks.push(Block::ToolUse { id, name, input: input(function) });
    }
    blocks
}

/// The arguments of a call as an object. Some engines write an object instead of a text. Text that is not an object becomes a member of
/// one.
fn input(function: Json<'_>) -> JsonText {
    let written = member(function, "arguments").filter(|arguments| arguments.kind() == Kind::Object);
    if let Some(written) = written {
        return written.to_text();
    }
    let arguments = text(function, "arguments").unwrap_or_default();
    let parsed = minimize(arguments.as_bytes(), 0).ok();
    let parsed = parsed.filter(|parsed| parsed.as_json().kind() == Kind::Object);
    parsed.unwrap_or_else(|| {
        let mut writer = ObjectWriter::with_capacity(arguments.len() + 32);
        if !arguments.is_empty() {
            writer.string(INVALID_ARGUMENTS, &arguments);
        }
        writer.finish()
    })
}

/// The stop sequences of a stored body: one string or an array of strings.
fn stop_sequences(body: &[u8]) -> Vec<String> {
    let stop = Json::from_stored(body).ok().and_then(|body| member(body, "stop"));
    let one = stop.and_then(Json::decode_string).map(String::from);
    let several = stop.and_then(Json::elements).into_iter().flatten();
    one.into_iter().chain(several.filter_map(|text| text.decode_string().map(String::from))).collect()
}

/// The stop sequence that ended a choice, if the engine names it, as vLLM and SGLang do.
fn matched(choice: Json<'_>, stops: &[String]) -> Option<String> {
    let named = ["stop_reason", "matched_stop"].into_iter().find_map(|key| text(choice, key));
    named.filter(|named| stops.contains(named))
}

pub(super) fn text(object: Json<'_>, key: &str) -> Option<String> {
    member(object, key)?.decode_string().map(String::from)
}

pub(super) fn member<'a>(object: Json<'a>, key: &str) -> Option<Json<'a>> {
    object.members()?.find(|member| member.key() == key).map(|member| member.value)
}
