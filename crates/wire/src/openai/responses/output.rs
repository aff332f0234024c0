//! The answer of the model as the output items of a response.

use std::borrow::Cow;

use overnight_domain::ids::RequestId;
use overnight_domain::json::{Json, Kind, RawObject};

use crate::json::{By, EMPTY, IfSet, Or, Raw, Value, members, object};

/// The members in which engines send a model's thoughts.
const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];

/// An item of the output. Its texts are JSON strings as in the completion.
#[derive(Debug, Clone)]
pub(super) enum Item<'a> {
    Reasoning(Json<'a>),
    Text(Json<'a>),
    Refusal(Json<'a>),
    Call {
        /// Repeated by the client in the function's output.
        id: Option<Json<'a>>,
        name: Json<'a>,
        /// A JSON text.
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
        // Some engines write an object instead of a text, which clients could not send back.
        arguments: function.get_some("arguments").map_or(Cow::Borrowed(""), |arguments| {
            arguments.decode_string().unwrap_or(Cow::Borrowed(arguments.as_str()))
        }),
    })
}

impl Item<'_> {
    /// The identifier of the item at this index of a request's output.
    pub(super) fn id(&self, request: RequestId, place: usize) -> String {
        let prefix = match self {
            Self::Reasoning(_) => "rs",
            Self::Text(_) | Self::Refusal(_) => "msg",
            Self::Call { .. } => "fc",
        };
        item_id(prefix, request, place)
    }

    /// The item, empty or complete.
    pub(super) fn value(&self, id: String, is_whole: bool) -> impl Value {
        let part = self.part(true).filter(|_| is_whole);
        By(move |out: &mut Vec<u8>| {
            let (id, parts) = (&*id, part.as_slice());
            let status = if is_whole { "completed" } else { "in_progress" };
            let head = |kind: &'static str| members! { "id": id, "type": kind, "status": status };
            match self {
                Self::Reasoning(_) => {
                    object! { ..head("reasoning"), "summary": EMPTY, "content": parts }.append(out);
                }
                Self::Text(_) | Self::Refusal(_) => {
                    object! { ..head("message"), "role": "assistant", "content": parts }.append(out);
                }
                Self::Call { id: call_id, name, arguments } => object! {
                    ..head("function_call"),
                    "call_id": Or(*call_id, id),
                    "name": name,
                    "arguments": if is_whole { &**arguments } else { "" },
                }
                .append(out),
            }
        })
    }

    /// The only part of its content, empty or complete; `None` for a call.
    pub(super) fn part(&self, is_whole: bool) -> Option<impl Value> {
        let (kind, text, refusal) = match self {
            Self::Reasoning(text) => ("reasoning_text", Some(text), None),
            Self::Text(text) => ("output_text", Some(text), None),
            Self::Refusal(text) => ("refusal", None, Some(text)),
            Self::Call { .. } => return None,
        };
        let more = matches!(self, Self::Text(_)).then_some(EMPTY);
        Some(object! {
            "type": kind,
            "text": IfSet(text.map(|text| shown(*text, is_whole))),
            "refusal": IfSet(refusal.map(|text| shown(*text, is_whole))),
            "annotations": IfSet(more),
            "logprobs": IfSet(more),
        })
    }
}

/// The text, or an empty one until the item is complete.
fn shown(text: Json<'_>, is_whole: bool) -> Raw<'_> {
    Raw(if is_whole { text.as_str() } else { "\"\"" }.as_bytes())
}

pub(super) fn item_id(prefix: &str, request: RequestId, place: usize) -> String {
    let request = request.to_string();
    let (_, digits) = request.split_once('_').unwrap_or_default();
    format!("{prefix}_{digits}{place:02}")
}

/// The index of an item in a request's list, from its identifier; `None` if it belongs to another request.
pub(super) fn place_of(item_id: &str, request: RequestId) -> Option<usize> {
    let request = request.to_string();
    let (_, digits) = request.split_once('_')?;
    let (_, name) = item_id.split_once('_')?;
    name.strip_prefix(digits)?.parse().ok()
}

/// The reason why an answer is incomplete; `None` if it is complete.
pub(super) fn incomplete_reason(completion: &RawObject<'_>) -> Option<&'static str> {
    let choice = completion.get("choices").and_then(Json::elements)?.next()?.to_object()?;
    match choice.get("finish_reason")?.decode_string()?.as_ref() {
        "length" => Some("max_output_tokens"),
        "content_filter" => Some("content_filter"),
        _ => None,
    }
}

pub(super) fn whole_items(items: &[Item<'_>], request: RequestId) -> Vec<impl Value> {
    items.iter().enumerate().map(|(place, item)| item.value(item.id(request, place), true)).collect()
}

pub(super) fn usage_of(completion: &RawObject<'_>) -> Option<impl Value> {
    let usage = completion.get("usage")?.to_object()?;
    let detail = |details: &str, key: &str| -> i64 {
        let count = usage.get(details).and_then(Json::to_object).and_then(|details| details.get(key));
        count.and_then(Json::as_integer_text).and_then(|count| count.parse().ok()).unwrap_or(0)
    };
    let cached = detail("prompt_tokens_details", "cached_tokens");
    let written = detail("prompt_tokens_details", "cache_write_tokens");
    let reasoning = detail("completion_tokens_details", "reasoning_tokens");
    let (input, output) = (usage.get("prompt_tokens")?, usage.get("completion_tokens")?);
    let total = usage.get("total_tokens")?;
    Some(object! {
        "input_tokens": input,
        "input_tokens_details": object! { "cached_tokens": cached, "cache_write_tokens": written },
        "output_tokens": output,
        "output_tokens_details": object! { "reasoning_tokens": reasoning },
        "total_tokens": total,
    })
}
