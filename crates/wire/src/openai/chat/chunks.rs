//! A completion that is there as a whole, as the chunks of a stream.

use overnight_domain::json::{Json, JsonText, ObjectWriter, RawObject};

use super::TIER;
use crate::json::push;
use crate::openai::errors::ErrorObject;
use crate::openai::events::push_data;

/// What a message holds as text, each sent in a chunk of its own.
const TEXTS: [&str; 4] = ["reasoning_content", "reasoning", "content", "refusal"];

/// Appends the events of a completion: for each choice its role, its texts, its calls of tools and why it ended; then the usage where
/// that is asked for, and the end.
pub fn write_chunks(completion: &[u8], includes_usage: bool, out: &mut Vec<u8>) {
    let completion = Json::from_stored(completion).ok().and_then(Json::to_object);
    let Some(completion) = completion else { return };
    let chunks = Chunks { completion: &completion, includes_usage };
    let choices = completion.get("choices").and_then(Json::elements);
    for choice in choices.into_iter().flatten().filter_map(Json::to_object) {
        chunks.write_choice(&choice, out);
    }
    if includes_usage {
        chunks.write(None, completion.get("usage"), out);
    }
    push("data: [DONE]\n\n", out);
}

/// Appends the event that clients raise: the stream ends before the completion.
pub fn write_error(error: &ErrorObject, out: &mut Vec<u8>) {
    push("data: ", out);
    error.write_envelope(out);
    push("\n\n", out);
}

struct Chunks<'c> {
    completion: &'c RawObject<'c>,
    includes_usage: bool,
}

impl Chunks<'_> {
    fn write_choice(&self, choice: &RawObject<'_>, out: &mut Vec<u8>) {
        let message = choice.get("message").and_then(Json::to_object);
        let mut role = ObjectWriter::with_capacity(32);
        role.string("role", "assistant");
        self.write_delta(choice, &role.finish(), None, out);
        for (key, value) in message.iter().flat_map(RawObject::members) {
            let is_text = TEXTS.contains(&key.as_ref());
            match key.as_ref() {
                "tool_calls" => self.write_tool_calls(choice, *value, out),
                "function_call" | "audio" | "annotations" if !value.is_null() => {
                    self.write_delta(choice, &one(key, *value), None, out);
                }
                _ if is_text && !value.is_null() => self.write_delta(choice, &one(key, *value), None, out),
                _ => {}
            }
        }
        let end = ObjectWriter::with_capacity(2).finish();
        self.write_delta(choice, &end, choice.get("finish_reason"), out);
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
        if numbered.is_empty() {
            return;
        }
        let mut delta = ObjectWriter::with_capacity(calls.as_str().len() + 64);
        delta.array("tool_calls", numbered.iter().map(JsonText::as_json));
        self.write_delta(choice, &delta.finish(), None, out);
    }

    /// A chunk with a part of a choice. Its log probabilities come with its content.
    fn write_delta(
        &self,
        choice: &RawObject<'_>,
        delta: &JsonText,
        finish_reason: Option<Json<'_>>,
        out: &mut Vec<u8>,
    ) {
        let has_content = delta.as_json().members().is_some_and(|mut it| it.any(|it| it.key() == "content"));
        let mut part = ObjectWriter::with_capacity(delta.as_str().len() + 64);
        match choice.get("index") {
            Some(index) => part.json("index", index),
            None => part.integer("index", 0),
        }
        part.json("delta", delta.as_json());
        if let Some(logprobs) = choice.get("logprobs").filter(|_| has_content) {
            part.json("logprobs", logprobs);
        }
        match finish_reason {
            Some(reason) => part.json("finish_reason", reason),
            None => part.null("finish_reason"),
        }
        self.write(Some(part.finish().as_json()), None, out);
    }

    fn write(&self, choice: Option<Json<'_>>, usage: Option<Json<'_>>, out: &mut Vec<u8>) {
        let mut chunk = ObjectWriter::with_capacity(choice.map_or(0, |it| it.as_str().len()) + 256);
        for key in ["id", "created", "model", "system_fingerprint"] {
            if let Some(value) = self.completion.get(key) {
                chunk.json(key, value);
            }
        }
        chunk.string("object", "chat.completion.chunk");
        chunk.string("service_tier", TIER);
        chunk.array("choices", choice.into_iter());
        match usage {
            Some(usage) => chunk.json("usage", usage),
            None if self.includes_usage => chunk.null("usage"),
            None => {}
        }
        push_data(chunk.finish().as_str(), out);
    }
}

/// An object with one member.
fn one(key: &str, value: Json<'_>) -> JsonText {
    let mut object = ObjectWriter::with_capacity(value.as_str().len() + 32);
    object.json(key, value);
    object.finish()
}
