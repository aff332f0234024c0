//! Percent-encoding, read strictly: what does not decode to text is refused, not guessed at.

use std::borrow::Cow;

/// The text that a path spells; `None` where an escape is broken or the bytes are no UTF-8.
pub(super) fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => digit(rest.next()?)? << 4 | digit(rest.next()?)?,
            other => other,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// The text that a part of a query spells, where a plus is a space.
pub(super) fn decode_query(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('+') {
        return decode(text);
    }
    let spaced = text.replace('+', " ");
    decode(&spaced).map(|text| Cow::Owned(text.into_owned()))
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
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
            ("%ff", None),
            ("%C3", None),
        ] {
            assert_eq!(decode(text).as_deref(), expected, "{text}");
        }
        assert_eq!(decode_query("in+progress%2B").as_deref(), Some("in progress+"));
    }
}
