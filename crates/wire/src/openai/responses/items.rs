//! The messages of a chat completion, as the items of a response's input.

use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, RawObject, array};
use overnight_domain::records::RequestRecord;

use super::config::{of_type, type_of};
use super::object::instructions_of;
use super::output::item_id;
use crate::json::push;

/// Appends the list of what the model was asked, but for `instructions`, oldest first or newest first.
pub fn write_input_items(request: &RequestRecord, is_newest_first: bool, out: &mut Vec<u8>) {
    let chat = Json::from_stored(&request.body).ok().and_then(Json::to_object);
    let messages = chat.as_ref().and_then(|chat| chat.get("messages")).and_then(Json::elements);
    let instructions = usize::from(chat.as_ref().and_then(instructions_of).is_some());
    let mut items = Items { request, list: Vec::new() };
    for message in messages.into_iter().flatten().skip(instructions).filter_map(Json::to_object) {
        items.add(&message);
    }
    let mut list = items.list;
    if is_newest_first {
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
    answer.boolean("has_more", false);
    push(answer.finish().as_str(), out);
}

struct Items<'r> {
    request: &'r RequestRecord,
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
            let parts = parts_of(content, role == "assistant");
            self.push("msg", "message", |item| {
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
        let id = item_id(prefix, self.request.summary.id, self.list.len());
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
