//! Compact JSON, owned and borrowed, and the readers that walk it in place.

use std::borrow::Cow;

use super::strings::{Pieces, skip_string};
use super::{JsonError, Members, RawObject};

/// One JSON value as compact text: made by [`super::minimize`] or written by [`super::ObjectWriter`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonText(String);

impl JsonText {
    pub(super) fn from_scanned(text: String) -> Self {
        Self(text)
    }

    /// The value, to be read.
    pub fn as_json(&self) -> Json<'_> {
        Json(&self.0)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, to be stored or sent.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// The kind of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// Any number.
    Number,
    /// Any string.
    String,
    /// Any array.
    Array,
    /// Any object.
    Object,
}

/// One value within compact JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<'a>(&'a str);

impl<'a> Json<'a> {
    /// `{}`.
    pub const EMPTY_OBJECT: Json<'static> = Json("{}");

    /// The value stored as `text`, which [`super::minimize`] or [`super::ObjectWriter`] made. Other text does no harm and reads as
    /// nonsense. Fails if it is not UTF-8.
    pub fn from_stored(text: &'a [u8]) -> Result<Self, JsonError> {
        std::str::from_utf8(text).map(Self).map_err(JsonError::utf8)
    }

    pub(super) fn from_part(text: &'a str) -> Self {
        Self(text)
    }

    /// The text of the value.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// An owned copy of the text.
    pub fn to_text(self) -> JsonText {
        JsonText(self.0.to_owned())
    }

    /// The kind of the value.
    pub fn kind(self) -> Kind {
        match self.0.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            _ => Kind::Null,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Whether more than `levels` arrays and objects are nested in it, itself included.
    pub fn is_deeper_than(self, levels: u32) -> bool {
        let (bytes, mut at, mut depth) = (self.0.as_bytes(), 0, 0_u32);
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    at = skip_string(bytes, at);
                    continue;
                }
                b'{' | b'[' if depth == levels => return true,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        false
    }

    /// The nearest double, if it is a number.
    pub fn as_f64(self) -> Option<f64> {
        if self.kind() == Kind::Number { self.0.parse().ok() } else { None }
    }

    /// The text of the number if it is spelt as an integer: no fraction, no exponent (unlike `1.0` and `1e2`).
    pub fn as_integer_text(self) -> Option<&'a str> {
        let is_integer =
            self.kind() == Kind::Number && !self.0.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
        is_integer.then_some(self.0)
    }

    /// The decoded string, if it is a string; borrowed if it has no escapes.
    pub fn decode_string(self) -> Option<Cow<'a, str>> {
        self.string_pieces().map(Pieces::join)
    }

    /// The decoded string piece by piece, if it is a string.
    pub fn string_pieces(self) -> Option<Pieces<'a>> {
        if self.kind() != Kind::String {
            return None;
        }
        Some(Pieces::new(self.0.get(1..self.0.len() - 1).unwrap_or("")))
    }

    /// The elements in order, if it is an array.
    pub fn elements(self) -> Option<Elements<'a>> {
        (self.kind() == Kind::Array).then_some(Elements { text: self.0, at: 1 })
    }

    /// The members in order, if it is an object.
    pub fn members(self) -> Option<Members<'a>> {
        (self.kind() == Kind::Object).then(|| Members::new(self.0))
    }

    /// The members with decoded keys, if it is an object.
    pub fn to_object(self) -> Option<RawObject<'a>> {
        self.members().map(RawObject::collect)
    }
}

/// The elements of an array, in order.
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        let end = skip_value(self.text.as_bytes(), self.at);
        let element = self.text.get(self.at..end).filter(|element| !element.is_empty())?;
        self.at = end + 1;
        Some(Json(element))
    }
}

/// The place after the value that starts at `at` in compact text.
#[inline]
pub(super) fn skip_value(text: &[u8], at: usize) -> usize {
    let mut at = at;
    let mut depth = 0_usize;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                at = skip_string(text, at);
                if depth == 0 {
                    return at.min(text.len());
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}
