//! The messages of a chat completion, as the input items of a response.

use overnight_domain::ids::RequestId;
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, RawObject, array};
use overnight_domain::records::RequestRecord;

use super::config::{of_type, type_of};
use super::object::instructions_of;
use super::output::{item_id, place_of};
use crate::json::{IfSet, Raw, Value as _, members, object};

/// A page of the list of items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemsPage {
    /// Whether the latest item is first.
    pub is_newest_first: bool,
    /// The maximum number of items.
    pub limit: usize,
    /// The identifier of the item before the page, in this order.
    pub after: Option<String>,
}

impl ItemsPage {
    /// The default limit.
    pub const LIMIT: usize = 20;

    /// The highest limit.
    pub const LIMIT_MAX: usize = 100;

    /// The range of the items on the page, out of `count`. If no item has the identifier `after`, the page begins at the first.
    fn places(&self, request: RequestId, count: usize) -> (usize, usize) {
        let after = self.after.as_deref().and_then(|id| place_of(id, request)).filter(|place| *place < count);
        if self.is_newest_first {
            let end = after.unwrap_or(count);
            (end.saturating_sub(self.limit), end)
        } else {
            let start = after.map_or(0, |place| place + 1);
            (start, start.saturating_add(self.limit).min(count))
        }
    }
}

/// Appends a page of the model's input, without `instructions`.
pub fn write_input_items(request: &RequestRecord, page: &ItemsPage, out: &mut Vec<u8>) {
    let chat = Json::from_stored(&request.body).ok().and_then(Json::to_object);
    let messages = || {
        let messages = chat.as_ref().and_then(|chat| chat.get("messages")).and_then(Json::elements);
        let instructions = usize::from(chat.as_ref().and_then(instructions_of).is_some());
        messages.into_iter().flatten().skip(instructions).filter_map(Json::to_object)
    };
    let mut counted = Items { request, places: (0, 0), count: 0, list: Vec::new() };
    messages().for_each(|message| counted.add(&message));
    let places = page.places(request.summary.id, counted.count);
    let mut items = Items { request, places, count: 0, list: Vec::new() };
    messages().for_each(|message| items.add(&message));
    let mut list = items.list;
    if page.is_newest_first {
        list.reverse();
    }
    let data: Vec<_> = list.iter().map(|(_, item)| Raw(item)).collect();
    let ids = [list.first(), list.last()].map(|item| item.map(|(id, _)| id));
    let has_more = if page.is_newest_first { places.0 > 0 } else { places.1 < counted.count };
    object! { "object": "list", "data": data[..], "first_id": ids[0], "last_id": ids[1], "has_more": has_more }
        .append(out);
}

/// Numbers the items and keeps those of a range.
struct Items<'r> {
    request: &'r RequestRecord,
    places: (usize, usize),
    count: usize,
    list: Vec<(String, Vec<u8>)>,
}

impl Items<'_> {
    fn add(&mut self, message: &RawObject<'_>) {
        let role = message.get("role").and_then(Json::decode_string).unwrap_or_default();
        if role == "tool" {
            let call_id = message.get("tool_call_id");
            let output = members! { "call_id": IfSet(call_id), "output": output_of(message) };
            return self.push("fco", "function_call_output", output);
        }
        if let Some(content) = message.get_some("content") {
            let (role, parts) = (&*role, parts_of(content, role == "assistant"));
            self.push("msg", "message", members! { "role": role, "content": parts[..] });
        }
        let calls = message.get_some("tool_calls").and_then(Json::elements);
        for call in calls.into_iter().flatten().filter_map(Json::to_object) {
            let Some(function) = call.get("function").and_then(Json::to_object) else { continue };
            let called = members! {
                "call_id": IfSet(call.get("id")),
                "name": IfSet(function.get("name")),
                "arguments": IfSet(function.get("arguments")),
            };
            self.push("fc", "function_call", called);
        }
    }

    fn push(&mut self, prefix: &str, kind: &str, rest: impl Fn(&mut Vec<u8>)) {
        let place = self.count;
        self.count += 1;
        if place < self.places.0 || place >= self.places.1 {
            return;
        }
        let id = item_id(prefix, self.request.summary.id, place);
        let (name, mut item) = (&*id, Vec::new());
        object! { "id": name, "type": kind, "status": "completed", ..rest }.append(&mut item);
        self.list.push((id, item));
    }
}

fn output_of(message: &RawObject<'_>) -> JsonText {
    match message.get("content") {
        Some(content) if content.kind() == Kind::String => content.to_text(),
        Some(content) => array(parts_of(content, false).iter().map(JsonText::as_json)),
        None => array(std::iter::empty()),
    }
}

fn parts_of(content: Json<'_>, is_output: bool) -> Vec<JsonText> {
    let text = |text| {
        let kind = if is_output { "output_text" } else { "input_text" };
        let mut part = ObjectWriter::with_capacity(64);
        part.string("type", kind);
        part.json("text", text);
        if is_output {
            part.array("annotations", std::iter::empty());
        }
        part.finish()
    };
    let Some(parts) = content.elements() else { return vec![text(content)] };
    parts
        .filter_map(|part| {
            let object = part.to_object()?;
            Some(match type_of(&object).as_deref() {
                Some("text") => text(object.get("text")?),
                Some("image_url") => image(object.get("image_url")?),
                Some("file") => file(object.get("file")?),
                _ => part.to_text(),
            })
        })
        .collect()
}

/// Converts an image, whose `image_url` is a string or an object.
fn image(image: Json<'_>) -> JsonText {
    let Some(object) = image.to_object() else { return of_type("input_image", "image_url", image) };
    let mut part = ObjectWriter::with_capacity(image.as_str().len() + 64);
    part.string("type", "input_image");
    if let Some(url) = object.get("url") {
        part.json("image_url", url);
    }
    match object.get_some("detail") {
        Some(detail) => part.json("detail", detail),
        None => part.string("detail", "auto"),
    }
    part.finish()
}

fn file(file: Json<'_>) -> JsonText {
    let mut part = ObjectWriter::with_capacity(file.as_str().len() + 64);
    part.string("type", "input_file");
    for member in file.members().into_iter().flatten() {
        part.copy(member.raw_key, member.value);
    }
    part.finish()
}
