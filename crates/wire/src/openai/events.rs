//! Server-sent events. JSON without white space outside strings has no line break, so each event is one line of data.

use crate::json::{Value, push};

/// A comment that shows that the connection is alive; clients ignore it.
pub const KEEP_ALIVE: &str = ": waiting\n\n";

pub(super) fn push_data(json: impl Value, out: &mut Vec<u8>) {
    push("data: ", out);
    json.append(out);
    push("\n\n", out);
}
