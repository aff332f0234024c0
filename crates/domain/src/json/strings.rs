//! The bytes of JSON strings: finding where they stop, and decoding their escapes piece by piece.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// The first place at or after `at` with a quote or a backslash; the length if there is none.
#[inline]
pub(super) fn find_stop(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    memchr2(b'"', b'\\', rest).map_or(text.len(), |stop| at + stop)
}

/// The place after the closing quote of the string whose opening quote stands at `at`; the length if it never closes.
#[inline]
pub(super) fn skip_string(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    loop {
        at = find_stop(text, at);
        match text.get(at) {
            Some(b'"') => return at + 1,
            Some(_) => at += 2,
            None => return text.len(),
        }
    }
}

/// One piece of a decoded string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A run without escapes, as it stands in the text.
    Plain(&'a str),
    /// What one escape stands for.
    Escaped(char),
}

/// The pieces of a string in order: decoding without building the whole.
#[derive(Debug, Clone)]
pub struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Pieces<'a> {
    /// `inner` is the text between the quotes of a checked string.
    pub(super) fn new(inner: &'a str) -> Self {
        Self { rest: inner }
    }

    /// The string in one piece, borrowed when nothing in it is escaped.
    pub(super) fn join(self) -> Cow<'a, str> {
        if memchr(b'\\', self.rest.as_bytes()).is_none() {
            return Cow::Borrowed(self.rest);
        }
        let mut whole = String::with_capacity(self.rest.len());
        for piece in self {
            match piece {
                Piece::Plain(run) => whole.push_str(run),
                Piece::Escaped(decoded) => whole.push(decoded),
            }
        }
        Cow::Owned(whole)
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let stop = find_stop(self.rest.as_bytes(), 0);
        if stop > 0 {
            return Some(Piece::Plain(self.take(stop)));
        }
        let escape = *self.rest.as_bytes().get(1)?;
        if escape != b'u' {
            self.take(2);
            return Some(Piece::Escaped(unescape(escape)));
        }
        let high = hex4(self.take(6).as_bytes().get(2..)?)?;
        if !(0xD800..0xDC00).contains(&high) {
            return Some(Piece::Escaped(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)));
        }
        let low = hex4(self.take(6).as_bytes().get(2..)?)?;
        let joined = 0x10000 + ((high - 0xD800) << 10) + (low.wrapping_sub(0xDC00) & 0x3FF);
        Some(Piece::Escaped(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER)))
    }
}

fn unescape(escape: u8) -> char {
    match escape {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        other => char::from(other),
    }
}

/// The number that the first four bytes spell in hexadecimal, if they do.
#[inline]
pub(super) fn hex4(digits: &[u8]) -> Option<u32> {
    let digits = digits.first_chunk::<4>()?;
    digits.iter().try_fold(0, |number, &digit| Some(number * 16 + char::from(digit).to_digit(16)?))
}
