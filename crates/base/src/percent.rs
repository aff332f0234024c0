//! Strict percent-decoding.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Decodes a path. `None` if an escape is broken, which the library would keep, or if the bytes are not UTF-8.
pub fn decode(text: &str) -> Option<Cow<'_, str>> {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    let is_whole = |behind: &str| behind.as_bytes().get(..2).is_some_and(is_hex);
    if !text.split('%').skip(1).all(is_whole) {
        return None;
    }
    percent_decode_str(text).decode_utf8().ok()
}

/// Decodes a part of a query, in which a plus is a space.
pub fn decode_query(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('+') {
        return decode(text);
    }
    let spaced = text.replace('+', " ");
    decode(&spaced).map(|text| Cow::Owned(text.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_escapes_of_utf_8_are_text() {
        for (text, expected) in [
            ("plain", Some("plain")),
            ("in%20progress", Some("in progress")),
            ("%C3%A9%2f", Some("é/")),
            ("a+b", Some("a+b")),
            ("%", None),
            ("%4", None),
            ("%zz", None),
            ("%+1", None),
            ("%4%41", None),
            ("%2541", Some("%41")),
            ("%ff", None),
            ("%C3", None),
        ] {
            assert_eq!(decode(text).as_deref(), expected, "{text}");
        }
        assert_eq!(decode_query("in+progress%2B").as_deref(), Some("in progress+"));
    }
}
