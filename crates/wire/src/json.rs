//! Appends JSON to a buffer. Keys and fixed words are pushed as they stand, so only strings need care.

use overnight_domain::ids::{Id, Kind};

/// Appends text that is JSON already.
pub(crate) fn push(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
}

/// Appends `,"key":`.
pub(crate) fn push_key(key: &str, out: &mut Vec<u8>) {
    push(",\"", out);
    push(key, out);
    push("\":", out);
}

/// Appends an identifier in quotes.
pub(crate) fn push_id<K: Kind>(id: Id<K>, out: &mut Vec<u8>) {
    push("\"", out);
    id.append_to(out);
    push("\"", out);
}

/// Appends a string in quotes, escaped.
pub(crate) fn push_string(text: &str, out: &mut Vec<u8>) {
    // A string is always serialisable, and writing to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// Appends a whole number.
pub(crate) fn push_integer(value: i64, out: &mut Vec<u8>) {
    // An integer is always serialisable, and writing to memory cannot fail.
    let _ = serde_json::to_writer(out, &value);
}

/// Appends a time in milliseconds as the Unix second it falls in. Rounding down keeps whole seconds between two times.
pub(crate) fn push_time(time_ms: i64, out: &mut Vec<u8>) {
    push_integer(time_ms.div_euclid(1000), out);
}

/// Appends `,"key":time`, or nothing where there is none.
pub(crate) fn push_time_if_set(key: &str, time_ms: Option<i64>, out: &mut Vec<u8>) {
    if let Some(time_ms) = time_ms {
        push_key(key, out);
        push_time(time_ms, out);
    }
}

/// Appends stored JSON, or `null`.
pub(crate) fn push_json_or_null(json: Option<&[u8]>, out: &mut Vec<u8>) {
    out.extend_from_slice(json.unwrap_or(b"null"));
}

/// Appends a string in quotes, or `null`.
pub(crate) fn push_string_or_null(text: Option<&str>, out: &mut Vec<u8>) {
    match text {
        Some(text) => push_string(text, out),
        None => push("null", out),
    }
}

/// Escapes what some clients split lines at, in the JSON text that begins at `from`: U+0085, U+2028 and U+2029, which stand in
/// strings alone.
pub(crate) fn escape_line_ends(from: usize, out: &mut Vec<u8>) {
    let is_end = |character: char| matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}');
    let Ok(text) = std::str::from_utf8(&out[from..]) else { return };
    if !text.contains(is_end) {
        return;
    }
    let mut escaped = String::with_capacity(text.len() + 64);
    for character in text.chars() {
        if is_end(character) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            escaped.push(character);
        }
    }
    out.truncate(from);
    out.extend_from_slice(escaped.as_bytes());
}
