//! Strings, numbers and literals as the pass meets them, and their repairs.

use super::JsonError;
use super::scan::Scanner;
use super::strings::{FIRST_PRINTABLE, find_stop, has_control_characters, hex4};

/// Any integer of so many decimal digits fits a double; with more of them, or an exponent, the value is computed.
const SAFE_INTEGER_DIGITS: usize = 308;

const UNICODE_ESCAPE_BYTES: usize = 6;

/// How Python and JavaScript write numbers that JSON does not have.
const NOT_FINITE: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

impl Scanner<'_> {
    pub(super) fn literal(&mut self, literal: &'static [u8]) -> Result<(), JsonError> {
        if !self.bytes[self.at..].starts_with(literal) {
            return Err(JsonError::syntax(self.at, "true, false or null"));
        }
        self.at += literal.len();
        Ok(())
    }

    #[inline]
    pub(super) fn string(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        loop {
            let run_at = self.at;
            self.at = find_stop(self.bytes, run_at);
            self.check_control_characters(run_at)?;
            match self.peek() {
                Some(b'"') => break,
                Some(_) => self.escape()?,
                None => return Err(JsonError::syntax(self.at, "the closing quote of a string")),
            }
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn check_control_characters(&mut self, run_at: usize) -> Result<(), JsonError> {
        let run = &self.bytes[run_at..self.at];
        if !self.has_control_characters || !has_control_characters(run) {
            return Ok(());
        }
        let control_at = run_at + run.iter().take_while(|byte| **byte >= FIRST_PRINTABLE).count();
        if self.repairs.is_none() {
            return Err(JsonError::syntax(control_at, "control characters in strings to be escaped"));
        }
        self.escape_control_characters(control_at);
        Ok(())
    }

    fn escape_control_characters(&mut self, from: usize) {
        for at in from..self.at {
            let escape = match self.bytes[at] {
                b'\n' => "\\n".to_owned(),
                b'\r' => "\\r".to_owned(),
                b'\t' => "\\t".to_owned(),
                control if control < FIRST_PRINTABLE => format!("\\u{control:04x}"),
                _ => continue,
            };
            self.replace(at, at + 1, &escape);
        }
        self.repairs.get_or_insert_default().control_characters = true;
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => self.unicode_escape()?,
            _ => return Err(JsonError::syntax(self.at, "a known escape after the backslash")),
        }
        Ok(())
    }

    fn unicode_escape(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        match self.code_unit()? {
            0xDC00..0xE000 => self.lone_surrogate(start),
            0xD800..0xDC00 => {
                let paired = self.bytes[self.at..].starts_with(b"\\u");
                if paired && (0xDC00..0xE000).contains(&self.code_unit()?) {
                    return Ok(());
                }
                self.lone_surrogate(start)
            }
            _ => Ok(()),
        }
    }

    /// The surrogate escape at `start` has no partner.
    fn lone_surrogate(&mut self, start: usize) -> Result<(), JsonError> {
        let Some(repairs) = &mut self.repairs else { return Err(JsonError::lone_surrogate(start)) };
        repairs.characters = true;
        self.at = start + UNICODE_ESCAPE_BYTES;
        self.replace(start, self.at, "\u{fffd}");
        Ok(())
    }

    /// Reads the `\uXXXX` at the current place.
    fn code_unit(&mut self) -> Result<u32, JsonError> {
        let digits_at = self.at + 2;
        let unit = self.bytes.get(digits_at..).and_then(hex4);
        self.at = digits_at + 4;
        unit.ok_or(JsonError::syntax(digits_at, "four hexadecimal digits"))
    }

    pub(super) fn number(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            if self.repairs.is_some() && self.bytes.get(start + 1) == Some(&b'I') {
                return self.not_finite();
            }
            self.at += 1;
        }
        let integer_at = self.at;
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        let mut may_overflow = self.at - integer_at > SAFE_INTEGER_DIGITS;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            may_overflow = true;
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        if may_overflow && !self.text[start..self.at].parse::<f64>().is_ok_and(f64::is_finite) {
            let Some(repairs) = &mut self.repairs else { return Err(JsonError::number(start)) };
            repairs.numbers = true;
            self.replace(start, self.at, "null");
        }
        Ok(())
    }

    /// The text here is not a JSON value. It may be a number that is not finite.
    pub(super) fn not_finite(&mut self) -> Result<(), JsonError> {
        let rest = &self.bytes[self.at..];
        let name = NOT_FINITE.iter().find(|name| rest.starts_with(name.as_bytes()));
        let (Some(name), Some(repairs)) = (name, &mut self.repairs) else {
            return Err(JsonError::syntax(self.at, "a value"));
        };
        repairs.numbers = true;
        let start = self.at;
        self.at += name.len();
        self.replace(start, self.at, "null");
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(JsonError::syntax(self.at, "a digit"));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }
}
