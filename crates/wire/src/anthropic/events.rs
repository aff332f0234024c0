//! A message as the events of a stream. The whole answer exists before the first event, so each block is one delta.

use overnight_domain::ids::CallId;
use overnight_domain::json::Json;

use super::answers::{Block, Message, Usage};
use super::errors::write_error;
use crate::json::{By, EMPTY, NULL, Value, members, object, push};

/// Keeps a stream alive while its request waits or runs.
pub const PING: &[u8] = b"event: ping\ndata: {\"type\":\"ping\"}\n\n";

/// Appends the events of a message, from `message_start` to `message_stop`.
pub fn write_events(message: &Message, out: &mut Vec<u8>) {
    let started = object! {
        ..message.head(),
        "content": EMPTY,
        "stop_reason": NULL,
        "stop_sequence": NULL,
        "usage": Usage { output_tokens: 0, ..message.usage }
    };
    event("message_start", out, members! { "message": started });
    for (place, block) in message.content.iter().enumerate() {
        write_block(i64::try_from(place).unwrap_or(i64::MAX), block, out);
    }
    let delta =
        object! { "stop_reason": message.stop_reason, "stop_sequence": message.stop_sequence.as_ref() };
    event("message_delta", out, members! { "delta": delta, "usage": message.usage });
    event("message_stop", out, |_: &mut Vec<u8>| {});
}

/// Appends the event that ends a stream without an answer.
pub fn write_error_event(kind: &str, message: &str, call: CallId, out: &mut Vec<u8>) {
    push("event: error\ndata: ", out);
    write_error(kind, message, call, out);
    push("\n\n", out);
}

fn write_block(place: i64, block: &Block, out: &mut Vec<u8>) {
    let start = By(|out: &mut Vec<u8>| match block {
        Block::Text(_) => object! { "type": "text", "text": "", "citations": NULL }.append(out),
        Block::ToolUse { id, name, .. } => {
            object! { "type": "tool_use", "id": id, "name": name, "input": Json::EMPTY_OBJECT }.append(out);
        }
    });
    let delta = By(|out: &mut Vec<u8>| match block {
        Block::Text(text) => object! { "type": "text_delta", "text": text }.append(out),
        Block::ToolUse { input, .. } => {
            object! { "type": "input_json_delta", "partial_json": input.as_str() }.append(out);
        }
    });
    event("content_block_start", out, members! { "index": place, "content_block": start });
    event("content_block_delta", out, members! { "index": place, "delta": delta });
    event("content_block_stop", out, members! { "index": place });
}

/// Appends one event. Its data begin with its type.
fn event(kind: &str, out: &mut Vec<u8>, rest: impl Fn(&mut Vec<u8>)) {
    push("event: ", out);
    push(kind, out);
    push("\ndata: ", out);
    object! { "type": kind, ..rest }.append(out);
    push("\n\n", out);
}
