//! Control tokens in what a client wrote. A template makes them by writing their texts, such as `<|im_start|>`; in a client's words the
//! same text must stay text. So each occurrence there gets a mark after its first character, which lives through what templates do with
//! strings, and the prompt is tokenized in the pieces between marks.

use std::collections::{HashMap, HashSet};

use minijinja::{Value, value::ValueKind};

/// A character that Unicode reserves for the use inside of programs.
const MARK: char = '\u{FDD0}';

/// The texts of control tokens, as a tree of bytes.
#[derive(Debug, Default)]
pub(super) struct ControlTexts {
    next: HashMap<(usize, u8), usize>,
    ends: HashSet<usize>,
}

impl ControlTexts {
    /// A text of one character cannot be broken, and is left out.
    pub(super) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut tree = Self::default();
        for text in texts.into_iter().filter(|text| text.chars().nth(1).is_some()) {
            let mut node = 0;
            for byte in text.bytes() {
                let fresh = tree.next.len() + 1;
                node = *tree.next.entry((node, byte)).or_insert(fresh);
            }
            tree.ends.insert(node);
        }
        tree
    }

    /// The value with marks in all its strings.
    pub(super) fn mark(&self, value: &Value) -> Value {
        match value.kind() {
            ValueKind::String => {
                let marked = value.as_str().and_then(|text| self.mark_text(text));
                marked.map_or_else(|| value.clone(), Value::from)
            }
            ValueKind::Seq => value.try_iter().into_iter().flatten().map(|item| self.mark(&item)).collect(),
            ValueKind::Map => {
                let field =
                    |key: Value| (self.mark(&key), self.mark(&value.get_item(&key).unwrap_or_default()));
                Value::from_pairs(value.try_iter().into_iter().flatten().map(field))
            }
            _ => value.clone(),
        }
    }

    /// `None` if no control text is in it.
    fn mark_text(&self, text: &str) -> Option<String> {
        let mut marked = String::new();
        let mut rest = 0;
        for (at, first) in text.char_indices().filter(|(at, _)| self.begins(&text.as_bytes()[*at..])) {
            let after = at + first.len_utf8();
            marked.push_str(&text[rest..after]);
            marked.push(MARK);
            rest = after;
        }
        marked.push_str(&text[rest..]);
        (rest > 0).then_some(marked)
    }

    /// Whether `bytes` begin with a control text, or end in one: a template may write another string of the client after them.
    fn begins(&self, bytes: &[u8]) -> bool {
        let mut node = 0;
        for &byte in bytes {
            match self.next.get(&(node, byte)) {
                Some(&next) if self.ends.contains(&next) => return true,
                Some(&next) => node = next,
                None => return false,
            }
        }
        node != 0
    }
}

/// The pieces of a rendered prompt, in none of which a client's text makes a control token.
pub fn pieces(prompt: &str) -> impl Iterator<Item = &str> {
    prompt.split(MARK)
}
