//! A finished response as the events of a stream.

use overnight_domain::json::Json;
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;

use super::object::response;
use super::output::{Item, incomplete_reason, items_of};
use crate::json::{By, EMPTY, IfSet, Value, members, object, push};
use crate::openai::errors::ErrorObject;
use crate::openai::events::push_data;

/// The number of events that are sent before the request has ended.
const OPENING_COUNT: i64 = 2;

/// Appends the first events of a stream (created, queued) whose numbers are above `after`.
pub fn write_opening(request: &RequestRecord, after: Option<i64>, out: &mut Vec<u8>) {
    let mut events = Events { next: 0, after, out };
    let queued = response(request, RequestStatus::Registered);
    events.write_response("response.created", &queued);
    events.write_response("response.queued", &queued);
}

/// Appends the events of an ended request whose numbers are above `after`.
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

/// Appends an error event: the stream ends before the response.
pub fn write_error(error: &ErrorObject, out: &mut Vec<u8>) {
    Events { next: OPENING_COUNT, after: None, out }.write_error(error);
}

/// Writes numbered events.
struct Events<'o> {
    next: i64,
    after: Option<i64>,
    out: &'o mut Vec<u8>,
}

impl Events<'_> {
    fn write_response(&mut self, kind: &str, response: &impl Value) {
        self.write(kind, members! { "response": response });
    }

    /// The events of an item with its only part, or its arguments.
    fn write_item(&mut self, item: &Item<'_>, id: &str, place: usize) {
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        let of_item = members! { "item_id": id, "output_index": place };
        let whole =
            |is_whole| members! { "output_index": place, "item": item.value(id.to_owned(), is_whole) };
        self.write("response.output_item.added", whole(false));
        let (kind, key) = match item {
            Item::Reasoning(_) => ("response.reasoning_text", ",\"text\":"),
            Item::Text(_) => ("response.output_text", ",\"text\":"),
            Item::Refusal(_) => ("response.refusal", ",\"refusal\":"),
            Item::Call { .. } => ("response.function_call_arguments", ",\"arguments\":"),
        };
        let said = By(|out: &mut Vec<u8>| match item {
            Item::Reasoning(text) | Item::Text(text) | Item::Refusal(text) => text.append(out),
            Item::Call { arguments, .. } => arguments.as_ref().append(out),
        });
        let name = if let Item::Call { name, .. } = item { Some(*name) } else { None };
        let in_part = members! {
            ..of_item,
            "content_index": IfSet(name.is_none().then_some(0)),
            "logprobs": IfSet(matches!(item, Item::Text(_)).then_some(EMPTY)),
        };
        self.write_part("response.content_part.added", item.part(false), of_item);
        self.write(&format!("{kind}.delta"), members! { ..in_part, "delta": said });
        let done =
            members! { ..in_part, "name": IfSet(name), ..|out: &mut Vec<u8>| said.append_member(key, out) };
        self.write(&format!("{kind}.done"), done);
        self.write_part("response.content_part.done", item.part(true), of_item);
        self.write("response.output_item.done", whole(true));
    }

    fn write_part(&mut self, kind: &str, part: Option<impl Value>, of_item: impl Fn(&mut Vec<u8>)) {
        let Some(part) = part else { return };
        self.write(kind, members! { ..of_item, "content_index": 0, "part": part });
    }

    fn write_error(&mut self, error: &ErrorObject) {
        let ErrorObject { message, code, param, .. } = error;
        self.write("error", members! { "message": message, "code": code, "param": param });
    }

    fn write(&mut self, kind: &str, rest: impl Fn(&mut Vec<u8>)) {
        let number = self.next;
        self.next += 1;
        if self.after.is_some_and(|after| number <= after) {
            return;
        }
        push("event: ", self.out);
        push(kind, self.out);
        push("\n", self.out);
        push_data(object! { "type": kind, "sequence_number": number, ..rest }, self.out);
    }
}
