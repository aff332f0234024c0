//! A finished completion as the chunks of a stream.

use overnight_domain::json::{Json, JsonText, ObjectWriter, RawObject};

use super::TIER;
use crate::json::{By, IfSet, Or, Value, object, push};
use crate::openai::errors::ErrorObject;
use crate::openai::events::push_data;

/// The text members of a message. Each is sent in its own chunk.
const PARTS: [&str; 7] =
    ["reasoning_content", "reasoning", "content", "refusal", "function_call", "audio", "annotations"];

/// Appends the events of a completion: for each choice its role, texts, tool calls and finish reason; then the usage, if asked for, and the
/// end.
pub fn write_chunks(completion: &[u8], includes_usage: bool, out: &mut Vec<u8>) {
    let completion = Json::from_stored(completion).ok().and_then(Json::to_object);
    let Some(completion) = completion else { return };
    let chunks = Chunks { completion: &completion, includes_usage };
    let choices = completion.get("choices").and_then(Json::elements);
    for choice in choices.into_iter().flatten().filter_map(Json::to_object) {
        chunks.write_choice(&choice, out);
    }
    if includes_usage {
        chunks.write(None::<Json<'_>>, completion.get("usage"), out);
    }
    push("data: [DONE]\n\n", out);
}

/// Appends an event that makes clients raise an error: the stream ends before the completion.
pub fn write_error(error: &ErrorObject, out: &mut Vec<u8>) {
    push_data(By(|out: &mut Vec<u8>| error.write_envelope(out)), out);
}

struct Chunks<'c> {
    completion: &'c RawObject<'c>,
    includes_usage: bool,
}

impl Chunks<'_> {
    fn write_choice(&self, choice: &RawObject<'_>, out: &mut Vec<u8>) {
        let message = choice.get("message").and_then(Json::to_object);
        self.write_delta(choice, object! { "role": "assistant" }, false, None, out);
        for (key, value) in message.iter().flat_map(RawObject::members) {
            if key == "tool_calls" {
                self.write_tool_calls(choice, *value, out);
            } else if PARTS.contains(&key.as_ref()) && !value.is_null() {
                self.write_delta(choice, one(key, *value), key == "content", None, out);
            }
        }
        self.write_delta(choice, Json::EMPTY_OBJECT, false, choice.get("finish_reason"), out);
    }

    fn write_tool_calls(&self, choice: &RawObject<'_>, calls: Json<'_>, out: &mut Vec<u8>) {
        let numbered = (0..).zip(calls.elements().into_iter().flatten()).map(|(index, call)| {
            let mut numbered = ObjectWriter::with_capacity(call.as_str().len() + 16);
            numbered.integer("index", index);
            for member in call.members().into_iter().flatten().filter(|member| member.key() != "index") {
                numbered.copy(member.raw_key, member.value);
            }
            numbered.finish()
        });
        let numbered: Vec<JsonText> = numbered.collect();
        if !numbered.is_empty() {
            self.write_delta(choice, object! { "tool_calls": numbered[..] }, false, None, out);
        }
    }

    /// A chunk with a part of a choice. Log probabilities are sent with the content.
    fn write_delta(
        &self,
        choice: &RawObject<'_>,
        delta: impl Value,
        has_content: bool,
        finish_reason: Option<Json<'_>>,
        out: &mut Vec<u8>,
    ) {
        let part = object! {
            "index": Or(choice.get("index"), 0),
            "delta": delta,
            "logprobs": IfSet(choice.get("logprobs").filter(|_| has_content)),
            "finish_reason": finish_reason,
        };
        self.write(Some(part), None, out);
    }

    fn write(&self, choice: Option<impl Value>, usage: Option<Json<'_>>, out: &mut Vec<u8>) {
        let Self { completion, includes_usage } = *self;
        let chunk = object! {
            "id": IfSet(completion.get("id")),
            "created": IfSet(completion.get("created")),
            "model": IfSet(completion.get("model")),
            "system_fingerprint": IfSet(completion.get("system_fingerprint")),
            "object": "chat.completion.chunk",
            "service_tier": TIER,
            "choices": choice.as_slice(),
            "usage": IfSet((usage.is_some() || includes_usage).then_some(usage)),
        };
        push_data(chunk, out);
    }
}

fn one(key: &str, value: Json<'_>) -> JsonText {
    let mut object = ObjectWriter::with_capacity(value.as_str().len() + 32);
    object.json(key, value);
    object.finish()
}
