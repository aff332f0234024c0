//! Server-sent events. JSON without white space outside strings holds no line break, so each event is one line of data.

use crate::json::push;

/// A comment, which clients ignore: it shows that the connection is alive.
pub const KEEP_ALIVE: &str = ": waiting\n\n";

/// Appends an event without a name.
pub(super) fn push_data(json: &str, out: &mut Vec<u8>) {
    push("data: ", out);
    push(json, out);
    push("\n\n", out);
}
