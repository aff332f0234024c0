//! What the model answered, as the items of a response.

use std::borrow::Cow;

use overnight_domain::ids::RequestId;
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, RawObject, array};

/// Where engines put what a model thought.
const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];

/// An item of the output. Texts stand as in the completion, in quotes.
#[derive(Debug, Clone)]
pub(super) enum Item<'a> {
    /// What the model thought.
    Reasoning(Json<'a>),
    /// What it said.
    Text(Json<'a>),
    /// Why it said nothing.
    Refusal(Json<'a>),
    /// A function that is to be called.
    Call {
        /// What the output of the function is to name.
        id: Option<Json<'a>>,
        /// Its name.
        name: Json<'a>,
        /// Its arguments, a JSON text.
        arguments: Cow<'a, str>,
    },
}

/// The items of the first choice of a completion, in the order of events.
pub(super) fn items_of<'a>(completion: &RawObject<'a>) -> Vec<Item<'a>> {
    let choice = completion.get("choices").and_then(Json::elements).and_then(|mut choices| choices.next());
    let message = choice.and_then(Json::to_object).and_then(|choice| choice.get("message")?.to_object());
    let Some(message) = message else { return Vec::new() };
    let text =
        |key: &str| message.get(key).filter(|text| text.kind() == Kind::String && text.as_str() != "\"\"");
    let mut items = Vec::new();
    items.extend(REASONING.into_iter().find_map(text).map(Item::Reasoning));
    items.extend(text("content").map(Item::Text));
    items.extend(text("refusal").map(Item::Refusal));
    let calls = message.get("tool_calls").and_then(Json::elements);
    items.extend(calls.into_iter().flatten().filter_map(read_call));
    items
}

fn read_call(call: Json<'_>) -> Option<Item<'_>> {
    let call = call.to_object()?;
    let function = call.get("function")?.to_object()?;
    let string = |value: &Json<'_>| value.kind() == Kind::String;
    Some(Item::Call {
        id: call.get("id").filter(string),
        name: function.get("name").filter(string)?,
        // Some engines write them as they are, and not as a text: clients could not send that back.
        arguments: function.get_some("arguments").map_or(Cow::Borrowed(""), |arguments| {
            arguments.decode_string().unwrap_or(Cow::Borrowed(arguments.as_str()))
        }),
    })
}

impl Item<'_> {
    /// What names the item at this place of the output of a request.
    pub(super) fn id(&self, request: RequestId, place: usize) -> String {
        let prefix = match self {
            Self::Reasoning(_) => "rs",
            Self::Text(_) | Self::Refusal(_) => "msg",
            Self::Call { .. } => "fc",
        };
        item_id(prefix, request, place)
    }

    /// The item before anything of it came, or once it is whole.
    pub(super) fn write(&self, id: &str, is_whole: bool) -> JsonText {
        let mut item = ObjectWriter::with_capacity(256);
        item.string("id", id);
        match self {
            Self::Reasoning(_) => item.string("type", "reasoning"),
            Self::Text(_) | Self::Refusal(_) => item.string("type", "message"),
            Self::Call { .. } => item.string("type", "function_call"),
        }
        item.string("status", if is_whole { "completed" } else { "in_progress" });
        let part = self.part(is_whole).filter(|_| is_whole);
        let parts = part.iter().map(JsonText::as_json);
        match self {
            Self::Reasoning(_) => {
                item.array("summary", std::iter::empty());
                item.array("content", parts);
            }
            Self::Text(_) | Self::Refusal(_) => {
                item.string("role", "assistant");
                item.array("content", parts);
            }
            Self::Call { id: call_id, name, arguments } => {
                match call_id {
                    Some(call_id) => item.json("call_id", *call_id),
                    None => item.string("call_id", id),
                }
                item.json("name", *name);
                item.string("arguments", if is_whole { arguments } else { "" });
            }
        }
        item.finish()
    }

    /// The only part of its content, empty or whole; `None` of a call.
    pub(super) fn part(&self, is_whole: bool) -> Option<JsonText> {
        let (kind, key, text) = match self {
            Self::Reasoning(text) => ("reasoning_text", "text", text),
            Self::Text(text) => ("output_text", "text", text),
            Self::Refusal(text) => ("refusal", "refusal", text),
            Self::Call { .. } => return None,
        };
        let mut part = ObjectWriter::with_capacity(text.as_str().len() + 64);
        part.string("type", kind);
        if is_whole {
            part.json(key, *text);
        } else {
            part.string(key, "");
        }
        if let Self::Text(_) = self {
            part.array("annotations", std::iter::empty());
            part.array("logprobs", std::iter::empty());
        }
        Some(part.finish())
    }
}

/// A name for an item of a request.
pub(super) fn item_id(prefix: &str, request: RequestId, place: usize) -> String {
    let request = request.to_string();
    let (_, digits) = request.split_once('_').unwrap_or_default();
    format!("{prefix}_{digits}{place:02}")
}

/// The place of an item in the list of a request, from its name; `None` where it is none of that request.
pub(super) fn place_of(item_id: &str, request: RequestId) -> Option<usize> {
    let request = request.to_string();
    let (_, digits) = request.split_once('_')?;
    let (_, name) = item_id.split_once('_')?;
    name.strip_prefix(digits)?.parse().ok()
}

/// Why an answer that came is not whole; `None` where it is.
pub(super) fn incomplete_reason(completion: &RawObject<'_>) -> Option<&'static str> {
    let choice = completion.get("choices").and_then(Json::elements)?.next()?.to_object()?;
    match choice.get("finish_reason")?.decode_string()?.as_ref() {
        "length" => Some("max_output_tokens"),
        "content_filter" => Some("content_filter"),
        _ => None,
    }
}

/// All items, whole.
pub(super) fn write_items(items: &[Item<'_>], request: RequestId) -> JsonText {
    let items: Vec<JsonText> =
        items.iter().enumerate().map(|(place, item)| item.write(&item.id(request, place), true)).collect();
    array(items.iter().map(JsonText::as_json))
}

/// The usage in the terms of a response.
pub(super) fn usage_of(completion: &RawObject<'_>) -> Option<JsonText> {
    let usage = completion.get("usage")?.to_object()?;
    let detail = |details: &str, key: &str| {
        let count = usage.get(details).and_then(Json::to_object).and_then(|details| details.get(key));
        count.and_then(Json::as_integer_text).and_then(|count| count.parse().ok()).unwrap_or(0)
    };
    let mut input = ObjectWriter::with_capacity(64);
    input.integer("cached_tokens", detail("prompt_tokens_details", "cached_tokens"));
    input.integer("cache_write_tokens", detail("prompt_tokens_details", "cache_write_tokens"));
    let mut output = ObjectWriter::with_capacity(32);
    output.integer("reasoning_tokens", detail("completion_tokens_details", "reasoning_tokens"));
    let mut writer = ObjectWriter::with_capacity(256);
    writer.json("input_tokens", usage.get("prompt_tokens")?);
    writer.json("input_tokens_details", input.finish().as_json());
    writer.json("output_tokens", usage.get("completion_tokens")?);
    writer.json("output_tokens_details", output.finish().as_json());
    writer.json("total_tokens", usage.get("total_tokens")?);
    Some(writer.finish())
}
