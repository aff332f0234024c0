//! Event streams, which some gateways send unasked: their chunks are joined into one answer.

use std::collections::BTreeMap;

use super::errors::is_reported;
use crate::json::{Json, JsonText, Kind, ObjectWriter, Repaired, Repairs, repair};

/// The end of a stream, which some gateways also append to a plain answer.
const END: &[u8] = b"[DONE]";

/// The possible beginnings of a stream.
const BEGINNINGS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];

/// Removes the end of a stream behind an answer.
pub(super) fn without_trailer(answer: &[u8]) -> &[u8] {
    let text = answer.trim_ascii();
    let trimmed = text.strip_suffix(END).map(<[u8]>::trim_ascii_end).and_then(|it| it.strip_suffix(b"data:"));
    trimmed.filter(|_| !is_stream(text)).unwrap_or(answer)
}

pub(super) fn is_stream(text: &[u8]) -> bool {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text).trim_ascii_start();
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

/// The answer in a stream: the whole answer or the error of an event, else the joined chunks. Fails with a description of the fault.
pub(super) fn assemble(stream: &[u8], object: &'static str) -> Result<Repaired, String> {
    let mut whole = Whole::default();
    let mut repairs = Repairs::default();
    for data in events(stream) {
        let data = data.trim_ascii();
        // A gateway may wrap a comment as data.
        if data.is_empty() || data.starts_with(b":") {
            continue;
        }
        if data == END {
            break;
        }
        let event = repair(data).map_err(|error| format!("an event is not JSON: {error}"))?;
        repairs = repairs.union(event.repairs);
        if is_answer(event.text.as_json()) {
            return Ok(event);
        }
        whole.add(event.text.as_json());
    }
    if whole.choices.is_empty() {
        return Err("no event has a part of an answer".to_owned());
    }
    // Chunks of odd shapes may produce a key twice.
    let text = repair(whole.write(object).as_str().as_bytes()).map_err(|error| error.to_string())?.text;
    Ok(Repaired { text, repairs })
}

/// The data of each event, its lines joined.
fn events(stream: &[u8]) -> Vec<Vec<u8>> {
    let (mut events, mut data) = (Vec::new(), Vec::new());
    for line in stream.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() && !data.is_empty() {
            events.push(std::mem::take(&mut data));
        }
        if let Some(part) = line.strip_prefix(b"data:") {
            data.extend_from_slice(part);
            data.push(b'\n');
        }
    }
    events.push(data);
    events
}

fn is_answer(event: Json<'_>) -> bool {
    event.members().into_iter().flatten().any(|member| match member.key().as_ref() {
        "error" => is_reported(member.value),
        "data" => member.value.kind() == Kind::Array,
        "choices" => member.value.elements().into_iter().flatten().any(|choice| {
            choice
                .members()
                .into_iter()
                .flatten()
                .any(|it| it.key() == "message" && it.value.kind() == Kind::Object)
        }),
        _ => false,
    })
}

#[derive(Default)]
struct Whole {
    /// `id`, `created` and so on: the last value of each member that is not null.
    head: BTreeMap<String, JsonText>,
    choices: BTreeMap<u64, Parts>,
}

impl Whole {
    fn add(&mut self, chunk: Json<'_>) {
        for member in chunk.members().into_iter().flatten() {
            match member.key().as_ref() {
                "object" => {}
                "choices" => {
                    for choice in member.value.elements().into_iter().flatten() {
                        self.choices.entry(index_of(choice)).or_default().add(choice);
                    }
                }
                key => keep(&mut self.head, key, member.value),
            }
        }
    }

    fn write(self, object: &str) -> JsonText {
        let mut writer = ObjectWriter::with_capacity(256);
        writer.string("object", object);
        for (key, value) in &self.head {
            writer.json(key, value.as_json());
        }
        let choices: Vec<_> = self.choices.into_iter().map(|(index, parts)| parts.write(index)).collect();
        writer.array("choices", choices.iter().map(JsonText::as_json));
        writer.finish()
    }
}

fn index_of(part: Json<'_>) -> u64 {
    let index = part.members().into_iter().flatten().find(|member| member.key() == "index");
    index.and_then(|member| member.value.as_integer_text()?.parse().ok()).unwrap_or(0)
}

fn keep(members: &mut BTreeMap<String, JsonText>, key: &str, value: Json<'_>) {
    if !value.is_null() {
        members.insert(key.to_owned(), value.to_text());
    }
}

/// The joined chunks of a choice, of its message, or of a call. Pieces of text and log probabilities are concatenated; of every other
/// member the last value counts.
#[derive(Default)]
struct Parts {
    texts: BTreeMap<String, String>,
    others: BTreeMap<String, JsonText>,
    logprobs: BTreeMap<String, Vec<JsonText>>,
    delta: Option<Box<Parts>>,
    calls: BTreeMap<u64, Calls>,
}

#[derive(Default)]
struct Calls {
    own: Parts,
    function: Parts,
}

/// The texts that a stream splits into pieces.
const PIECEMEAL: [&str; 6] = ["content", "reasoning", "reasoning_content", "refusal", "text", "arguments"];

impl Parts {
    fn add(&mut self, chunk: Json<'_>) {
        for member in chunk.members().into_iter().flatten() {
            let (key, value) = (member.key(), member.value);
            match key.as_ref() {
                "index" => {}
                "delta" => self.delta.get_or_insert_default().add(value),
                "tool_calls" => {
                    for call in value.elements().into_iter().flatten() {
                        self.calls.entry(index_of(call)).or_default().add(call);
                    }
                }
                key if PIECEMEAL.contains(&key) && value.kind() == Kind::String => {
                    self.texts
                        .entry(key.to_owned())
                        .or_default()
                        .push_str(&value.decode_string().unwrap_or_default());
                }
                "logprobs" if value.kind() == Kind::Object => self.add_logprobs(value),
                key => keep(&mut self.others, key, value),
            }
        }
    }

    fn add_logprobs(&mut self, logprobs: Json<'_>) {
        for member in logprobs.members().into_iter().flatten() {
            if let Some(elements) = member.value.elements() {
                self.logprobs
                    .entry(member.key().into_owned())
                    .or_default()
                    .extend(elements.map(Json::to_text));
            }
        }
    }

    fn write_into(self, writer: &mut ObjectWriter) {
        for (key, value) in &self.others {
            writer.json(key, value.as_json());
        }
        for (key, text) in &self.texts {
            writer.string(key, text);
        }
        if !self.calls.is_empty() {
            let calls: Vec<_> = self.calls.into_values().map(Calls::write).collect();
            writer.array("tool_calls", calls.iter().map(JsonText::as_json));
        }
    }

    fn write(mut self, index: u64) -> JsonText {
        let mut writer = ObjectWriter::with_capacity(256);
        writer.integer("index", i64::try_from(index).unwrap_or(i64::MAX));
        if let Some(delta) = self.delta.take() {
            let mut message = ObjectWriter::with_capacity(256);
            if !delta.others.contains_key("role") {
                message.string("role", "assistant");
            }
            if !delta.texts.contains_key("content") {
                message.null("content");
            }
            delta.write_into(&mut message);
            writer.json("message", message.finish().as_json());
        }
        if !self.logprobs.is_empty() {
            let mut logprobs = ObjectWriter::with_capacity(256);
            for (key, elements) in &self.logprobs {
                logprobs.array(key, elements.iter().map(JsonText::as_json));
            }
            writer.json("logprobs", logprobs.finish().as_json());
        }
        self.write_into(&mut writer);
        writer.finish()
    }
}

impl Calls {
    fn add(&mut self, call: Json<'_>) {
        for member in call.members().into_iter().flatten() {
            match member.key().as_ref() {
                "index" => {}
                "function" => self.function.add(member.value),
                key => keep(&mut self.own.others, key, member.value),
            }
        }
    }

    fn write(self) -> JsonText {
        let mut writer = ObjectWriter::with_capacity(128);
        self.own.write_into(&mut writer);
        let mut function = ObjectWriter::with_capacity(128);
        self.function.write_into(&mut function);
        writer.json("function", function.finish().as_json());
        writer.finish()
    }
}
