//! The one pass that checks a text and makes it compact.

use std::borrow::Cow;

use super::repeated_keys::OpenKeys;
use super::strings::{find_stop, has_control_characters};
use super::value::JsonText;
use super::{DEPTH_MAX, Json, JsonError, Repairs};

/// Checks that `text` is exactly one JSON value (RFC 8259, valid UTF-8, no byte order mark) and removes the white space outside its
/// strings; the rest is unchanged.
///
/// `starting_depth` is the number of containers around the value. One pass, no recursion; memory is one copy of the text. Refuses bad
/// syntax, raw control characters in strings, lone surrogate escapes, numbers beyond a double (`1e400`), and more than [`DEPTH_MAX`]
/// levels.
pub fn minimize(text: &[u8], starting_depth: u32) -> Result<JsonText, JsonError> {
    let text = std::str::from_utf8(text).map_err(JsonError::utf8)?;
    let scanner = Scanner::new(text, DEPTH_MAX.saturating_sub(starting_depth), None);
    Ok(JsonText::from_scanned(scanner.run()?.0))
}

#[derive(Clone, Copy)]
enum Expect {
    Value,
    FirstElementOrEnd,
    FirstKeyOrEnd,
    Key,
    CommaOrEnd,
    EndOfText,
}

pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    /// Whether the text has any, such as line breaks between values.
    pub(super) has_control_characters: bool,
    pub(super) at: usize,
    levels_left: u32,
    depth: u32,
    /// One bit per open container, the innermost lowest: set for an object, clear for an array.
    objects: u64,
    compact: String,
    copied_to: usize,
    /// Empty if the text must be strict JSON.
    keys: OpenKeys<'a>,
    /// The repairs so far; `None` if the text must be strict JSON.
    pub(super) repairs: Option<Repairs>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str, levels_left: u32, repairs: Option<Repairs>) -> Self {
        let compact = String::with_capacity(text.len());
        let bytes = text.as_bytes();
        Self {
            text,
            bytes,
            has_control_characters: has_control_characters(bytes),
            at: 0,
            levels_left,
            depth: 0,
            objects: 0,
            compact,
            copied_to: 0,
            keys: OpenKeys::default(),
            repairs,
        }
    }
}

impl Scanner<'_> {
    pub(super) fn run(mut self) -> Result<(String, Repairs), JsonError> {
        let mut expect = Expect::Value;
        loop {
            self.skip_space();
            expect = match expect {
                Expect::Value => self.value()?,
                Expect::FirstElementOrEnd if self.peek() == Some(b']') => self.close(),
                Expect::FirstElementOrEnd => self.value()?,
                Expect::FirstKeyOrEnd if self.peek() == Some(b'}') => self.close(),
                Expect::FirstKeyOrEnd | Expect::Key => self.key()?,
                Expect::CommaOrEnd => self.comma_or_end()?,
                Expect::EndOfText if self.at < self.bytes.len() => {
                    return Err(JsonError::syntax(self.at, "the end of the text"));
                }
                Expect::EndOfText => break,
            };
        }
        self.copy_to(self.at);
        Ok((self.compact, self.repairs.unwrap_or_default()))
    }

    /// Replaces the text from `from` to `to`, which must not have been copied yet.
    pub(super) fn replace(&mut self, from: usize, to: usize, with: &str) {
        self.copy_to(from);
        self.compact.push_str(with);
        self.copied_to = to;
    }

    /// Copies the text up to `to` that is not copied yet.
    fn copy_to(&mut self, to: usize) {
        self.compact.push_str(&self.text[self.copied_to..to]);
        self.copied_to = to;
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        if self.peek().is_some_and(|byte| byte <= b' ') {
            self.copy_past_space();
        }
    }

    fn copy_past_space(&mut self) {
        self.copy_to(self.at);
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.copied_to = self.at;
    }

    #[inline]
    fn value(&mut self) -> Result<Expect, JsonError> {
        match self.peek() {
            Some(b'"') => self.string()?,
            Some(b'{') => return self.open(Expect::FirstKeyOrEnd),
            Some(b'[') => return self.open(Expect::FirstElementOrEnd),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.literal(b"true")?,
            Some(b'f') => self.literal(b"false")?,
            Some(b'n') => self.literal(b"null")?,
            _ => self.not_finite()?,
        }
        Ok(self.after_value())
    }

    /// Opens an object or an array, whose first state is `inside`.
    fn open(&mut self, inside: Expect) -> Result<Expect, JsonError> {
        if self.depth == self.levels_left {
            return Err(JsonError::too_deep(self.at));
        }
        self.at += 1;
        self.depth += 1;
        self.objects = self.objects << 1 | u64::from(matches!(inside, Expect::FirstKeyOrEnd));
        Ok(inside)
    }

    fn close(&mut self) -> Expect {
        if !self.keys.is_empty() {
            self.end_keys();
        }
        self.at += 1;
        self.depth -= 1;
        self.objects >>= 1;
        self.after_value()
    }

    /// Drops the earlier members of repeated keys of the object that ends here.
    fn end_keys(&mut self) {
        self.copy_to(self.at);
        if self.keys.end(self.depth, &mut self.compact) {
            self.repairs.get_or_insert_default().repeated_keys = true;
        }
    }

    #[inline]
    fn after_value(&self) -> Expect {
        if self.depth == 0 { Expect::EndOfText } else { Expect::CommaOrEnd }
    }

    #[inline]
    fn comma_or_end(&mut self) -> Result<Expect, JsonError> {
        let in_object = self.objects & 1 == 1;
        match (self.peek(), in_object) {
            (Some(b','), true) => {
                self.at += 1;
                Ok(Expect::Key)
            }
            (Some(b','), false) => {
                self.at += 1;
                Ok(Expect::Value)
            }
            (Some(b'}'), true) | (Some(b']'), false) => Ok(self.close()),
            (_, true) => Err(JsonError::syntax(self.at, "a comma or a closing brace")),
            (_, false) => Err(JsonError::syntax(self.at, "a comma or a closing bracket")),
        }
    }

    fn key(&mut self) -> Result<Expect, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(JsonError::syntax(self.at, "a key in double quotes"));
        }
        let (from, place) = (self.at, self.compact.len() + self.at - self.copied_to);
        self.string()?;
        if self.repairs.is_some() {
            self.add_key(from, place);
        }
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(JsonError::syntax(self.at, "a colon after the key"));
        }
        self.at += 1;
        Ok(Expect::Value)
    }

    /// Adds the key that was just passed: it began at `from`, and at `place` of the compact text.
    fn add_key(&mut self, from: usize, place: usize) {
        let stop = find_stop(self.bytes, from + 1);
        let decoded = if stop + 1 == self.at {
            Cow::Borrowed(&self.text[from + 1..stop])
        } else {
            // Decoded as it was repaired.
            self.copy_to(self.at);
            let key = Json::from_part(&self.compact[place..]).decode_string();
            Cow::Owned(key.unwrap_or_default().into_owned())
        };
        self.keys.add(self.depth, place, decoded);
    }
}
