//! A message as the events of a stream. The whole answer is there when the first of them is written, so each block comes in one piece.

use overnight_domain::ids::CallId;

use super::answers::{Block, Message};
use super::errors::write_error;
use crate::json::{push, push_integer, push_key, push_string, push_string_or_null};

/// What tells a client that its answer is being worked on.
pub const PING: &[u8] = b"event: ping\ndata: {\"type\":\"ping\"}\n\n";

/// Appends the events of a message, from `message_start` to `message_stop`.
pub fn write_events(message: &Message, out: &mut Vec<u8>) {
    event("message_start", out, |out| {
        push_key("message", out);
        message.open(out);
        push(",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":", out);
        let mut usage = message.usage;
        usage.output_tokens = 0;
        usage.write(out);
        out.push(b'}');
    });
    for (place, block) in message.content.iter().enumerate() {
        write_block(i64::try_from(place).unwrap_or(i64::MAX), block, out);
    }
    event("message_delta", out, |out| {
        push(",\"delta\":{\"stop_reason\":", out);
        push_string(message.stop_reason, out);
        push_key("stop_sequence", out);
        push_string_or_null(message.stop_sequence.as_deref(), out);
        push("},\"usage\":", out);
        message.usage.write(out);
    });
    event("message_stop", out, |_| {});
}

/// Appends the event that ends a stream without an answer.
pub fn write_error_event(kind: &str, message: &str, call: CallId, out: &mut Vec<u8>) {
    push("event: error\ndata: ", out);
    write_error(kind, message, call, out);
    push("\n\n", out);
}

fn write_block(place: i64, block: &Block, out: &mut Vec<u8>) {
    let indexed = |out: &mut Vec<u8>| {
        push_key("index", out);
        push_integer(place, out);
    };
    event("content_block_start", out, |out| {
        indexed(out);
        push_key("content_block", out);
        match block {
            Block::Text(_) => push("{\"type\":\"text\",\"text\":\"\",\"citations\":null}", out),
            Block::ToolUse { id, name, .. } => {
                push("{\"type\":\"tool_use\",\"id\":", out);
                push_string(id, out);
                push_key("name", out);
                push_string(name, out);
                push(",\"input\":{}}", out);
            }
        }
    });
    event("content_block_delta", out, |out| {
        indexed(out);
        push_key("delta", out);
        match block {
            Block::Text(text) => {
                push("{\"type\":\"text_delta\",\"text\":", out);
                push_string(text, out);
            }
            Block::ToolUse { input, .. } => {
                push("{\"type\":\"input_json_delta\",\"partial_json\":", out);
                push_string(input.as_str(), out);
            }
        }
        out.push(b'}');
    });
    event("content_block_stop", out, indexed);
}

/// Appends one event, whose data begin with its type.
fn event(kind: &str, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    push("event: ", out);
    push(kind, out);
    push("\ndata: {\"type\":\"", out);
    push(kind, out);
    push("\"", out);
    write(out);
    push("}\n\n", out);
}
