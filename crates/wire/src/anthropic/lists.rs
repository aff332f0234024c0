//! Pages of lists.

use crate::json::{push, push_key, push_string_or_null};

/// Appends a page of a list whose items are `ids`; `write` appends each by its place.
pub fn write_page(
    ids: &[String],
    has_more: bool,
    out: &mut Vec<u8>,
    mut write: impl FnMut(usize, &mut Vec<u8>),
) {
    push("{\"data\":[", out);
    for place in 0..ids.len() {
        push(if place > 0 { "," } else { "" }, out);
        write(place, out);
    }
    push(if has_more { "],\"has_more\":true" } else { "],\"has_more\":false" }, out);
    for (key, id) in [("first_id", ids.first()), ("last_id", ids.last())] {
        push_key(key, out);
        push_string_or_null(id.map(String::as_str), out);
    }
    out.push(b'}');
}
