//! The bytes of JSON strings: finding where they stop, and decoding their escapes piece by piece.

use std::borrow::Cow;

use memchr::memchr2;

/// Most keys and many values end within this number of words of 8 bytes: before a search of many bytes at a time has begun.
const NEAR_WORDS: usize = 3;

/// Bytes below it are control characters.
pub(super) const FIRST_PRINTABLE: u8 = b' ';

/// The smallest byte is found many at a time, the first control character one by one.
pub(super) fn has_control_characters(bytes: &[u8]) -> bool {
    bytes.iter().copied().fold(u8::MAX, u8::min) < FIRST_PRINTABLE
}

/// The first place at or after `at` with a quote or a backslash; the length if there is none.
#[inline]
pub(super) fn find_stop(text: &[u8], at: usize) -> usize {
    let mut rest = text.get(at..).unwrap_or_default();
    for _ in 0..NEAR_WORDS {
        let Some((word, after)) = rest.split_first_chunk() else {
            let stop = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
            return stop.map_or(text.len(), |stop| text.len() - rest.len() + stop);
        };
        let stops = stops_in(u64::from_le_bytes(*word));
        if stops != 0 {
            return text.len() - rest.len() + stops.trailing_zeros() as usize / 8;
        }
        rest = after;
    }
    memchr2(b'"', b'\\', rest).map_or(text.len(), |stop| text.len() - rest.len() + stop)
}

/// Its lowest set bit is in the first byte of `word` that is a quote or a backslash; 0 without one.
#[inline]
const fn stops_in(word: u64) -> u64 {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = EACH << 7;
    let (quotes, backslashes) = (word ^ (EACH * b'"' as u64), word ^ (EACH * b'\\' as u64));
    // A byte borrows from the one above it only if it is 0 itself.
    ((quotes.wrapping_sub(EACH) & !quotes) | (backslashes.wrapping_sub(EACH) & !backslashes)) & HIGH
}

/// The place after the closing quote of the string whose opening quote is at `at`; the length if it never closes.
#[inline]
pub(super) fn skip_string(text: &[u8], at: usize) -> usize {
    skip_rest(text, find_stop(text, at + 1))
}

/// The same from the first stop in the string on.
#[inline]
pub(super) fn skip_rest(text: &[u8], mut stop: usize) -> usize {
    loop {
        match text.get(stop) {
            Some(b'"') => return stop + 1,
            Some(_) => stop = find_stop(text, stop + 2),
            None => return text.len(),
        }
    }
}

/// One piece of a decoded string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A run without escapes.
    Plain(&'a str),
    /// The character of one escape.
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

    /// The string in one piece, borrowed if it has no escapes.
    pub(super) fn join(self) -> Cow<'a, str> {
        // A quote within it would be escaped.
        if find_stop(self.rest.as_bytes(), 0) == self.rest.len() {
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

/// The number spelt by the first four bytes in hexadecimal.
#[inline]
pub(super) fn hex4(digits: &[u8]) -> Option<u32> {
    let digits = digits.first_chunk::<4>()?;
    digits.iter().try_fold(0, |number, &digit| Some(number * 16 + char::from(digit).to_digit(16)?))
}
