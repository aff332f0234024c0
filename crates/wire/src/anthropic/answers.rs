//! What a model answered, as a message.

use overnight_domain::ids::{MessageId, RequestId};
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, minimize};
use overnight_domain::records::RequestRecord;

use crate::json::{push, push_id, push_integer, push_key, push_string, push_string_or_null};

/// The key under which the arguments of a call stand that are no JSON object.
const INVALID_ARGUMENTS: &str = "INVALID_JSON";

/// A message that a model answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub(super) id: MessageId,
    pub(super) model: String,
    pub(super) content: Vec<Block>,
    pub(super) stop_reason: &'static str,
    pub(super) stop_sequence: Option<String>,
    pub(super) usage: Usage,
}

/// One block of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    Text(String),
    ToolUse { id: String, name: String, input: JsonText },
}

/// Tokens as Anthropic counts them: those that were cached are not among those of the input.
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

    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.open(out);
        push_key("content", out);
        out.push(b'[');
        for (place, block) in self.content.iter().enumerate() {
            push(if place > 0 { "," } else { "" }, out);
            block.write(out);
        }
        out.push(b']');
        push_key("stop_reason", out);
        push_string(self.stop_reason, out);
        push_key("stop_sequence", out);
        push_string_or_null(self.stop_sequence.as_deref(), out);
        push_key("usage", out);
        self.usage.write(out);
        out.push(b'}');
    }

    /// The keys that a message begins with.
    pub(super) fn open(&self, out: &mut Vec<u8>) {
        push("{\"id\":", out);
        push_id(self.id, out);
        push(",\"type\":\"message\",\"role\":\"assistant\",\"model\":", out);
        push_string(&self.model, out);
    }
}

impl Block {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => {
                push("{\"type\":\"text\",\"text\":", out);
                push_string(text, out);
                push(",\"citations\":null}", out);
            }
            Self::ToolUse { id, name, input } => {
                push("{\"type\":\"tool_use\",\"id\":", out);
                push_string(id, out);
                push_key("name", out);
                push_string(name, out);
                push_key("input", out);
                push(input.as_str(), out);
                out.push(b'}');
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

    pub(super) fn write(self, out: &mut Vec<u8>) {
        push("{\"input_tokens\":", out);
        push_integer(self.input_tokens, out);
        push(",\"cache_creation_input_tokens\":null,\"cache_read_input_tokens\":", out);
        match self.cache_read_input_tokens {
            Some(cached) => push_integer(cached, out),
            None => push("null", out),
        }
        push_key("output_tokens", out);
        push_integer(self.output_tokens, out);
        out.push(b'}');
    }
}

/// What a message of an engine says and calls.
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

/// The arguments of a call as an object. Some engines write them as they are, and not as a text. A model may write what is no object: its
/// text stands in one then.
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

/// The stop sequences of a stored body, which has one as a string or several in an array.
fn stop_sequences(body: &[u8]) -> Vec<String> {
    let stop = Json::from_stored(body).ok().and_then(|body| member(body, "stop"));
    let one = stop.and_then(Json::decode_string).map(String::from);
    let several = stop.and_then(Json::elements).into_iter().flatten();
    one.into_iter().chain(several.filter_map(|text| text.decode_string().map(String::from))).collect()
}

/// The stop sequence that ended a choice, where the engine names it: vLLM and SGLang do.
fn matched(choice: Json<'_>, stops: &[String]) -> Option<String> {
    let named = ["stop_reason", "matched_stop"].into_iter().find_map(|key| text(choice, key));
    named.filter(|named| stops.contains(named))
}

/// The string under a key of an object, if it is there and one.
pub(super) fn text(object: Json<'_>, key: &str) -> Option<String> {
    member(object, key)?.decode_string().map(String::from)
}

/// The value under a key of an object.
pub(super) fn member<'a>(object: Json<'a>, key: &str) -> Option<Json<'a>> {
    object.members()?.find(|member| member.key() == key).map(|member| member.value)
}
