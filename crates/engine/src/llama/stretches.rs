//! Long texts in stretches. llama.cpp finds the words of a text with regular expressions of the C++ library, which recurse once for each
//! character of a word; a word that is too long for the stack would end the process.

use std::iter;

/// The tokenizers that use none. Some of them treat the start of a text differently.
const WITHOUT_EXPRESSIONS: [&str; 5] = ["llama", "bert", "t5", "rwkv", "plamo2"];
/// A stretch takes at most 26 MiB of stack, with 410 bytes for a character (GCC 12, x86-64).
const STRETCH_BYTES: usize = 64 * 1024;
/// The last bytes of a stretch, in which an end between words is looked for.
const END_BYTES: usize = 4 * 1024;

/// The maximum length of a stretch, in bytes, for the tokenizer that the model file names.
pub(super) fn stretch_bytes(tokenizer: &str) -> usize {
    if WITHOUT_EXPRESSIONS.contains(&tokenizer) { usize::MAX } else { STRETCH_BYTES }
}

/// The text in stretches of at most `bytes_max`. They usually end between words, so that the tokens are the same as of the whole text.
pub(super) fn stretches(text: &str, bytes_max: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    iter::from_fn(move || {
        let (stretch, after) = rest?.split_at(end(rest?, bytes_max));
        rest = Some(after).filter(|after| !after.is_empty());
        Some(stretch)
    })
}

fn end(text: &str, bytes_max: usize) -> usize {
    if text.len() <= bytes_max {
        return text.len();
    }
    let is_between_words = |around: &[u8]| matches!(around, [before, b' ', after] if before.is_ascii_alphabetic() && after.is_ascii_alphabetic());
    let start = bytes_max.saturating_sub(END_BYTES);
    let found = text.as_bytes()[start..bytes_max].windows(3).rposition(is_between_words);
    found.map_or_else(|| text.floor_char_boundary(bytes_max), |at| start + at + 1)
}

#[cfg(test)]
mod tests {
    use super::{STRETCH_BYTES, stretch_bytes, stretches};

    fn lengths(text: &str) -> Vec<usize> {
        assert_eq!(stretches(text, STRETCH_BYTES).collect::<String>(), text);
        stretches(text, STRETCH_BYTES).map(str::len).collect()
    }

    #[test]
    fn a_short_text_is_one_stretch() {
        assert_eq!(lengths(""), [0]);
        assert_eq!(lengths("a b"), [3]);
        assert_eq!(lengths(&"a ".repeat(STRETCH_BYTES / 2)), [STRETCH_BYTES]);
    }

    #[test]
    fn a_long_word_is_cut_between_characters() {
        assert_eq!(lengths(&"a".repeat(STRETCH_BYTES + 1)), [STRETCH_BYTES, 1]);
        assert_eq!(lengths(&"中".repeat(30_000)), [STRETCH_BYTES - 1, 90_000 - STRETCH_BYTES + 1]);
        assert_eq!(lengths(&" ".repeat(2 * STRETCH_BYTES)), [STRETCH_BYTES; 2]);
    }

    #[test]
    fn a_stretch_ends_between_words() {
        let text = "the night is long. ".repeat(20_000);
        assert!(stretches(&text, STRETCH_BYTES).skip(1).all(|stretch| stretch.starts_with(' ')));
        assert!(lengths(&text)[0] > STRETCH_BYTES - 20);
    }

    #[test]
    fn a_tokenizer_without_regular_expressions_gets_the_whole_text() {
        let text = "night".repeat(STRETCH_BYTES);
        assert_eq!(stretches(&text, stretch_bytes("llama")).count(), 1);
        assert_eq!(stretches(&text, stretch_bytes("gpt2")).count(), 5);
    }
}
