//! Foreign messages and errors, made printable.

use std::error::Error;

use overnight_domain::text;

const MESSAGE_BYTES_MAX: usize = 2048;

pub fn in_words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !words.ends_with(&next) {
            words = format!("{words}: {next}");
        }
        cause = error.source();
    }
    words
}

/// On one line, with escapes for characters that mislead, cut if it is too long.
pub fn printable(words: &str) -> String {
    let mut line = String::with_capacity(words.len().min(MESSAGE_BYTES_MAX));
    for character in words.chars() {
        if line.len() >= MESSAGE_BYTES_MAX {
            line.push('…');
            break;
        }
        if text::misleads(character) {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_bounded_line() {
        assert_eq!(printable("a\nb\u{1b}[31m\u{fffd}"), "a\\nb\\u{1b}[31m\u{fffd}");
        assert_eq!(printable("a\u{202e}b\u{200b}"), "a\\u{202e}b\\u{200b}");
        let long = printable(&"ß".repeat(5_000));
        assert!(long.len() <= MESSAGE_BYTES_MAX + '…'.len_utf8() && long.ends_with('…'));
    }
}
