//! A response that is there as a whole, as the events of a stream.

use overnight_domain::json::{Json, JsonText, ObjectWriter};
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;

use super::object::response;
use super::output::{Item, incomplete_reason, items_of};
use crate::json::push;
use crate::openai::errors::ErrorObject;
use crate::openai::events::push_data;

/// How many events a stream begins with, before anything has ended.
const OPENING_COUNT: i64 = 2;

/// Appends the events with which a stream begins, but for those up to the number `after`: the response was created, and is queued.
pub fn write_opening(request: &RequestRecord, after: Option<i64>, out: &mut Vec<u8>) {
    let mut events = Events { next: 0, after, out };
    let queued = response(request, RequestStatus::Registered);
    events.write_response("response.created", &queued);
    events.write_response("response.queued", &queued);
}

/// Appends the events with which a stream ends once the request has ended, but for those up to the number `after`.
pub fn write_ending(request: &RequestRecord, after: Option<i64>, out: &mut Vec<u8>) {
    let mut events = Events { next: OPENING_COUNT, after, out };
    let status = request.summary.state.status();
    let completion = request.result.as_deref().and_then(|result| Json::from_stored(result).ok()?.to_object());
    let completion = completion.filter(|_| status == RequestStatus::Completed);
    if let Some(completion) = &completion {
        events.write_response("response.in_progress", &response(request, RequestStatus::InProgress));
        for (place, item) in items_of(completion).iter().enumerate() {
            events.write_item(item, &item.id(request.summary.id, place), place);
        }
    }
    let kind = match completion.as_ref().map(incomplete_reason) {
        Some(None) => "response.completed",
        Some(Some(_)) => "response.incomplete",
        None if status == RequestStatus::Cancelled => {
            let message = "the response was cancelled".to_owned();
            let code = Some("cancelled".to_owned());
            return events.write_error(&ErrorObject { message, kind: "error".to_owned(), param: None, code });
        }
        None => "response.failed",
    };
    events.write_response(kind, &response(request, status));
}

/// Appends the event that says that the stream ends before the response.
pub fn write_error(error: &ErrorObject, out: &mut Vec<u8>) {
    Events { next: OPENING_COUNT, after: None, out }.write_error(error);
}

/// Writes events with their numbers.
struct Events<'o> {
    next: i64,
    after: Option<i64>,
    out: &'o mut Vec<u8>,
}

impl Events<'_> {
    fn write_response(&mut self, kind: &str, response: &JsonText) {
        self.write(kind, |event| event.json("response", response.as_json()));
    }

    /// An item with its only part, or its arguments.
    fn write_item(&mut self, item: &Item<'_>, id: &str, place: usize) {
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        let of_item = |event: &mut ObjectWriter| {
            event.string("item_id", id);
            event.integer("output_index", place);
        };
        let whole = |event: &mut ObjectWriter, is_whole| {
            event.integer("output_index", place);
            event.json("item", item.write(id, is_whole).as_json());
        };
        self.write("response.output_item.added", |event| whole(event, false));
        let (kind, key) = match item {
            Item::Reasoning(_) => ("response.reasoning_text", "text"),
            Item::Text(_) => ("response.output_text", "text"),
            Item::Refusal(_) => ("response.refusal", "refusal"),
            Item::Call { .. } => ("response.function_call_arguments", "arguments"),
        };
        let said = |event: &mut ObjectWriter, key| match item {
            Item::Reasoning(text) | Item::Text(text) | Item::Refusal(text) => event.json(key, *text),
            Item::Call { arguments, .. } => event.string(key, arguments),
        };
        let in_part = |event: &mut ObjectWriter| {
            of_item(event);
            if !matches!(item, Item::Call { .. }) {
                event.integer("content_index", 0);
            }
            if matches!(item, Item::Text(_)) {
                event.array("logprobs", std::iter::empty());
            }
        };
        self.write_part("response.content_part.added", item.part(false), &of_item);
        self.write(&format!("{kind}.delta"), |event| {
            in_part(event);
            said(event, "delta");
        });
        self.write(&format!("{kind}.done"), |event| {
            in_part(event);
            if let Item::Call { name, .. } = item {
                event.json("name", *name);
            }
            said(event, key);
        });
        self.write_part("response.content_part.done", item.part(true), &of_item);
        self.write("response.output_item.done", |event| whole(event, true));
    }

    fn write_part(&mut self, kind: &str, part: Option<JsonText>, of_item: &dyn Fn(&mut ObjectWriter)) {
        let Some(part) = part else { return };
        self.write(kind, |event| {
            of_item(event);
            event.integer("content_index", 0);
            event.json("part", part.as_json());
        });
    }

    fn write_error(&mut self, error: &ErrorObject) {
        self.write("error", |event| {
            event.string("message", &error.message);
            for (key, value) in [("code", &error.code), ("param", &error.param)] {
                match value {
                    Some(value) => event.string(key, value),
                    None => event.null(key),
                }
            }
        });
    }

    fn write(&mut self, kind: &str, write: impl FnOnce(&mut ObjectWriter)) {
        let number = self.next;
        self.next += 1;
        if self.after.is_some_and(|after| number <= after) {
            return;
        }
        let mut event = ObjectWriter::with_capacity(256);
        event.string("type", kind);
        event.integer("sequence_number", number);
        write(&mut event);
        push("event: ", self.out);
        push(kind, self.out);
        push("\n", self.out);
        push_data(event.finish().as_str(), self.out);
    }
}
