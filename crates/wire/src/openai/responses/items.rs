//! The messages of a chat completion, as the items of a response's input.

use overnight_domain::ids::RequestId;
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, RawObject, array};
use overnight_domain::records::RequestRecord;

use super::config::{of_type, type_of};
use super::object::instructions_of;
use super::output::{item_id, place_of};
use crate::json::push;

/// Which items are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemsPage {
    /// The latest first.
    pub is_newest_first: bool,
    /// So many at most.
    pub limit: usize,
    /// Those after the item of this identifier, in this order.
    pub after: Option<String>,
}

impl ItemsPage {
    /// So many where a client names no number.
    pub const LIMIT: usize = 20;

    /// No more than so many.
    pub const LIMIT_MAX: usize = 100;

    /// The places of the `count` items of a request that are on the page: from the first to before the second. An identifier that none
    /// of them has is before all of them.
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

/// Appends a page of what the model was asked, but for `instructions`.
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
    let mut answer = ObjectWriter::with_capacity(256);
    answer.string("object", "list");
    answer.array("data", list.iter().map(|(_, item)| item.as_json()));
    for (key, item) in [("first_id", list.first()), ("last_id", list.last())] {
        match item {
            Some((id, _)) => answer.string(key, id),
            None => answer.null(key),
        }
    }
    let has_more = if page.is_newest_first { places.0 > 0 } else { places.1 < counted.count };
    answer.boolean("has_more", has_more);
    push(answer.finish().as_str(), out);
}

/// The items at some places, which are all numbered.
struct Items<'r> {
    request: &'r RequestRecord,
    places: (usize, usize),
    count: usize,
    list: Vec<(String, JsonText)>,
}

impl Items<'_> {
    fn add(&mut self, message: &RawObject<'_>) {
        let role = message.get("role").and_then(Json::decode_string).unwrap_or_default();
        if role == "tool" {
            self.push("fco", "function_call_output", |item| {
                copy(message, "tool_call_id", "call_id", item);
                item.json("output", output_of(message).as_json());
            });
            return;
        }
        if let Some(content) = message.get_some("content") {
            self.push("msg", "message", |item| {
                let parts = parts_of(content, role == "assistant");
                item.string("role", &role);
                item.array("content", parts.iter().map(JsonText::as_json));
            });
        }
        let calls = message.get_some("tool_calls").and_then(Json::elements);
        for call in calls.into_iter().flatten().filter_map(Json::to_object) {
            let Some(function) = call.get("function").and_then(Json::to_object) else { continue };
            self.push("fc", "function_call", |item| {
                copy(&call, "id", "call_id", item);
                copy(&function, "name", "name", item);
                copy(&function, "arguments", "arguments", item);
            });
        }
    }

    fn push(&mut self, prefix: &str, kind: &str, write: impl FnOnce(&mut ObjectWriter)) {
        let place = self.count;
        self.count += 1;
        if place < self.places.0 || place >= self.places.1 {
            return;
        }
        let id = item_id(prefix, self.request.summary.id, place);
        let mut item = ObjectWriter::with_capacity(256);
        item.string("id", &id);
        item.string("type", kind);
        item.string("status", "completed");
        write(&mut item);
        self.list.push((id, item.finish()));
    }
}

fn copy(from: &RawObject<'_>, key: &str, to: &str, item: &mut ObjectWriter) {
    if let Some(value) = from.get(key) {
        item.json(to, value);
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

/// An image, whose `image_url` is a string or an object.
fn image(image: Json<'_>) -> JsonText {
    let Some(object) = image.to_object() else { return of_type("input_image", "image_url", image) };
    let mut part = ObjectWriter::with_capacity(image.as_str().len() + 64);
    part.string("type", "input_image");
    copy(&object, "url", "image_url", &mut part);
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
