//! The lenient entry: almost valid JSON of engines becomes strict JSON.

use std::borrow::Cow;

use super::scan::Scanner;
use super::{DEPTH_MAX, JsonError, JsonText};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Strict JSON, and the repairs that made it so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The compact text, in which no object repeats a key.
    pub text: JsonText,
    /// The repairs.
    pub repairs: Repairs,
}

/// The repairs of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repairs {
    /// `NaN`, an infinity, or a number beyond a double became null.
    pub numbers: bool,
    /// Control characters in strings were escaped.
    pub control_characters: bool,
    /// Invalid UTF-8 or a lone surrogate escape became U+FFFD.
    pub characters: bool,
    /// Of a repeated key, the last value was kept, as in Python.
    pub repeated_keys: bool,
}

impl Repairs {
    /// The repairs of two texts.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            numbers: self.numbers || other.numbers,
            control_characters: self.control_characters || other.control_characters,
            characters: self.characters || other.characters,
            repeated_keys: self.repeated_keys || other.repeated_keys,
        }
    }
}

/// Reads `text` as [`super::minimize`] does, and makes the repairs that [`Repairs`] lists. It skips a byte order mark. Of strict JSON
/// without repeated keys, it returns the same text as [`super::minimize`]. Refuses bad syntax and more than [`DEPTH_MAX`] levels; the
/// offset counts the bytes of `text`.
pub fn repair(text: &[u8]) -> Result<Repaired, JsonError> {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    // Checking everything in one call is much faster than in chunks.
    let valid = str::from_utf8(body).map_or_else(|_| String::from_utf8_lossy(body), Cow::Borrowed);
    let repairs = Repairs { characters: matches!(valid, Cow::Owned(_)), ..Repairs::default() };
    let scanned = Scanner::new(&valid, DEPTH_MAX, Some(repairs)).run();
    let (compact, repairs) = scanned.map_err(|error| {
        let offset = text.len() - body.len() + offset_before(body, error.offset);
        JsonError { offset, ..error }
    })?;
    Ok(Repaired { text: JsonText::from_scanned(compact), repairs })
}

/// The offset in `body` of the byte that is at `offset` after its invalid parts were replaced.
fn offset_before(body: &[u8], offset: usize) -> usize {
    let (mut at, mut left) = (0, offset);
    for chunk in body.utf8_chunks() {
        let valid = chunk.valid().len();
        if left <= valid {
            return at + left;
        }
        at += valid + chunk.invalid().len();
        left = (left - valid).saturating_sub(char::REPLACEMENT_CHARACTER.len_utf8());
    }
    at.min(body.len())
}
