//! Pages of lists.

use crate::json::{By, Value as _, object};

/// Appends a page of a list whose items are `ids`; `write` appends the item at an index.
pub fn write_page(ids: &[String], has_more: bool, out: &mut Vec<u8>, write: impl Fn(usize, &mut Vec<u8>)) {
    let write = &write;
    let data: Vec<_> = (0..ids.len()).map(|place| By(move |out: &mut Vec<u8>| write(place, out))).collect();
    object! { "data": data[..], "has_more": has_more, "first_id": ids.first(), "last_id": ids.last() }
        .append(out);
}
