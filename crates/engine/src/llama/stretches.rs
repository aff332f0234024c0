//! Long texts in stretches. llama.cpp finds the words of a text with regular expressions of the C++ library, which recurse once for each
//! character of a word; a word that is too long for the stack would end the process.

use std::iter;

/// The tokenizers that use none. Some of them treat the start of a text differently.
const WITHOUT_EXPRESSIONS: [&str; 5] = ["llama", "bert", "t5", "rwkv", "plamo2"];
/// A stretch takes at most 26 MiB of stack, with 410 bytes for a character (GCC 12, x86-64).
const STRETCH_BYTES: usize = 64 * 1024;
/// The last bytes of a stretch, in which an end between words is looked for.
const END_BYTES: usize = 4 * 1024;

#[derive(Debug)]
pub(super) struct Stretches {
    bytes_max: usize,
    /// Texts of tokens that are never split.
    whole: Vec<String>,
}

impl Stretches {
    /// For the tokenizer that a model file names, and the texts of its special tokens.
    pub(super) fn new(tokenizer: &str, special: Vec<String>) -> Self {
        let bytes_max = if WITHOUT_EXPRESSIONS.contains(&tokenizer) { usize::MAX } else { STRETCH_BYTES };
        Self { bytes_max, whole: special }
    }

    /// The text in stretches. They usually end between words, so that most tokenizers find the same tokens as in the whole text.
    pub(super) fn of<'text>(&self, text: &'text str) -> impl Iterator<Item = &'text str> {
        let mut rest = Some(text);
        iter::from_fn(move || {
            let (stretch, after) = rest?.split_at(self.end(rest?));
            rest = Some(after).filter(|after| !after.is_empty());
            Some(stretch)
        })
    }

    fn end(&self, text: &str) -> usize {
        if text.len() <= self.bytes_max {
            return text.len();
        }
        let start = self.bytes_max.saturating_sub(END_BYTES);
        let found = text.as_bytes()[start..self.bytes_max].windows(3).rposition(is_between_words);
        let end = found.map_or_else(|| text.floor_char_boundary(self.bytes_max), |at| start + at + 1);
        let across = |whole: &String| {
            let starts = end.saturating_sub(whole.len().saturating_sub(1)).max(1)..end;
            starts.into_iter().find(|start| text.as_bytes()[*start..].starts_with(whole.as_bytes()))
        };
        self.whole.iter().filter_map(across).min().unwrap_or(end)
    }
}

fn is_between_words(around: &[u8]) -> bool {
    matches!(around, [before, b' ', after] if before.is_ascii_alphabetic() && after.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::{STRETCH_BYTES, Stretches};

    fn stretches(text: &str) -> Vec<&str> {
        let special = vec!["<|im_end|>".to_owned(), "<｜end of turn｜>".to_owned()];
        let found: Vec<_> = Stretches::new("gpt2", special).of(text).collect();
        assert_eq!(found.concat(), text);
        found
    }

    fn lengths(text: &str) -> Vec<usize> {
        stretches(text).into_iter().map(str::len).collect()
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
        let found = stretches(&text);
        assert!(found[1..].iter().all(|stretch| stretch.starts_with(' ')));
        assert!(found[0].len() > STRETCH_BYTES - 20);
    }

    #[test]
    fn a_special_token_is_never_split() {
        for token in ["<|im_end|>", "<｜end of turn｜>"] {
            for before in 0..=token.len() {
                let text = format!("{}{token}{}", "1".repeat(STRETCH_BYTES - before), "1".repeat(100));
                assert!(stretches(&text).iter().any(|stretch| stretch.contains(token)), "{before}");
            }
        }
        let text = "<|im_end|>".repeat(20_000);
        assert!(stretches(&text).iter().all(|stretch| stretch.starts_with('<') && stretch.ends_with('>')));
    }

    #[test]
    fn a_tokenizer_without_regular_expressions_gets_the_whole_text() {
        let text = "night".repeat(STRETCH_BYTES);
        assert_eq!(Stretches::new("llama", Vec::new()).of(&text).count(), 1);
        assert_eq!(stretches(&text).len(), 5);
    }
}
