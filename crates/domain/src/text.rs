//! Text that looks the same on a terminal, on a page and to a person.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character has an effect instead of being seen: it moves the cursor, turns the direction of the next text, or is invisible, so
/// that one text passes for another.
pub fn misleads(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
        )
}

/// Writes such characters as escapes.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(misleads) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match misleads(character) {
            true => escaped.extend(character.escape_default()),
            false => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// Lines for a terminal or a log, whoever wrote a part of them. Line breaks, tabs and, if `is_coloured`, colours stay; other characters that
/// mislead become escapes of JSON, so that JSON stays the same value.
pub fn safe_lines(text: &str, is_coloured: bool) -> Cow<'_, str> {
    let is_unsafe = |character: char| misleads(character) && !matches!(character, '\n' | '\t');
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let (mut safe, mut rest) = (String::with_capacity(text.len() + 16), text);
    while let Some(at) = rest.find(is_unsafe) {
        safe.push_str(&rest[..at]);
        rest = &rest[at..];
        let colour = if is_coloured { colour_length(rest) } else { 0 };
        if colour > 0 {
            safe.push_str(&rest[..colour]);
            rest = &rest[colour..];
            continue;
        }
        let mut characters = rest.chars();
        for unit in characters.next().into_iter().flat_map(|it| it.encode_utf16(&mut [0; 2]).to_vec()) {
            // Writing to memory cannot fail.
            let _ = write!(safe, "\\u{unit:04x}");
        }
        rest = characters.as_str();
    }
    safe.push_str(rest);
    Cow::Owned(safe)
}

/// The bytes of a sequence that sets a colour, if the text begins with one.
fn colour_length(text: &str) -> usize {
    let Some(codes) = text.strip_prefix("\x1b[") else { return 0 };
    let digits = codes.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if codes[digits..].starts_with('m') { digits + 3 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_lines_keep_layout_colours_and_the_values_of_json() {
        let plain = "Ärzte \u{1f680} שלום\n\tnext";
        assert_eq!(safe_lines(plain, false), plain);
        let hostile = "\u{1b}[1;31mred\u{1b}[0m\u{1b}[2J\u{202e}\r\u{9b}m\n";
        assert_eq!(safe_lines(hostile, true), "\u{1b}[1;31mred\u{1b}[0m\\u001b[2J\\u202e\\u000d\\u009bm\n");
        assert!(safe_lines(hostile, false).starts_with("\\u001b[1;31mred\\u001b[0m\\u001b[2J"));
        let value = serde_json::json!({"a": "\u{202e}\u{7f}\\\u{200b}\"\u{1b}"});
        let written = serde_json::to_string_pretty(&value).expect("JSON");
        let safe = safe_lines(&written, false);
        assert!(!safe.contains(|it| misleads(it) && it != '\n'), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).expect("JSON"), value);
    }

    #[test]
    fn what_misleads_is_written_as_an_escape_and_the_rest_stays() {
        assert_eq!(escaped("Ärzte \u{1f680} שלום"), "Ärzte \u{1f680} שלום");
        for character in
            "\u{1b}\u{7f}\u{85}\u{61c}\u{200b}\u{200f}\u{2028}\u{202e}\u{2060}\u{2069}\u{206f}\u{feff}"
                .chars()
        {
            assert!(misleads(character), "{character:?}");
            let text = format!("a{character}b");
            assert_eq!(escaped(&text), format!("a{}b", character.escape_default()));
        }
        for character in "\u{200a}\u{2010}\u{2027}\u{202f}\u{205f}\u{2070}".chars() {
            assert!(!misleads(character), "{character:?}");
        }
    }
}
