//! The faults found in a client's input: all of them, not only the first.

use std::fmt::{self, Display};

use crate::text;

/// Maximum of faults kept of one input; the rest are counted.
pub const FAULTS_KEPT_MAX: usize = 1_000;

/// Maximum of characters of a client's text that a fault repeats.
pub const QUOTED_CHARS_MAX: usize = 64;

/// The codes of faults, as they appear in `error.details[].code`.
pub mod codes {
    /// A required field is absent.
    pub const MISSING: &str = "missing";
    /// A value of the wrong JSON type.
    pub const WRONG_TYPE: &str = "wrong_type";
    /// A value beyond the field's bounds, or empty although required.
    pub const OUT_OF_RANGE: &str = "out_of_range";
    /// A string that is not one of the known values.
    pub const UNKNOWN_VALUE: &str = "unknown_value";
    /// A model that no longer accepts new requests.
    pub const MODEL_RETIRED: &str = "model_retired";
    /// An unknown field.
    pub const UNKNOWN_FIELD: &str = "unknown_field";
    /// An unknown query parameter.
    pub const UNKNOWN_PARAMETER: &str = "unknown_parameter";
    /// A query parameter that occurs more than once.
    pub const DUPLICATE_PARAMETER: &str = "duplicate_parameter";
    /// A path or query that is not percent-encoded UTF-8.
    pub const INVALID_ENCODING: &str = "invalid_encoding";
    /// A line of prompts that cannot become a request.
    pub const INVALID_LINE: &str = "invalid_line";
    /// An identifier that the account does not have.
    pub const UNKNOWN: &str = "unknown";
    /// An identifier that is already in the list.
    pub const DUPLICATE: &str = "duplicate";
    /// A request that already belongs to a batch.
    pub const IN_ANOTHER_BATCH: &str = "in_another_batch";
    /// A wrong password.
    pub const WRONG: &str = "wrong";
    /// A key that occurs more than once in one object.
    pub const DUPLICATE_KEY: &str = "duplicate_key";
    /// Two fields that contradict each other.
    pub const CONFLICT: &str = "conflict";
    /// A field or value that this service does not pass on.
    pub const NOT_ALLOWED: &str = "not_allowed";
    /// Text that is not JSON.
    pub const INVALID_JSON: &str = "invalid_json";
    /// Text that is not UTF-8.
    pub const INVALID_UTF8: &str = "invalid_utf8";
    /// Half of a surrogate pair, which is not valid Unicode.
    pub const LONE_SURROGATE: &str = "lone_surrogate";
    /// A number that a double cannot hold.
    pub const NUMBER_OUT_OF_RANGE: &str = "number_out_of_range";
    /// JSON nested too deeply.
    pub const TOO_DEEP: &str = "too_deep";
}

/// A fault of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The path, such as `request_body.messages[0].role`.
    pub param: String,
    /// The kind: one of [`codes`].
    pub code: &'static str,
    /// What is wrong and what would be right, for the sender.
    pub message: String,
}

/// The faults of one input: the first [`FAULTS_KEPT_MAX`] and the count of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    kept: Vec<Fault>,
    total: usize,
}

impl Faults {
    /// Adds a fault; past the bound it is only counted, and neither argument is formatted.
    pub fn push(&mut self, param: impl Display, code: &'static str, message: impl Display) {
        self.total += 1;
        if self.kept.len() < FAULTS_KEPT_MAX {
            self.kept.push(Fault { param: param.to_string(), code, message: message.to_string() });
        }
    }

    /// Whether no fault was found.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The number of faults, kept or not.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The kept faults, in the order found.
    pub fn kept(&self) -> &[Fault] {
        &self.kept
    }

    /// The kept faults, in the order found.
    pub fn into_kept(self) -> Vec<Fault> {
        self.kept
    }

    /// Adds the faults of `other` after these.
    pub fn append(&mut self, other: Self) {
        let room = FAULTS_KEPT_MAX - self.kept.len();
        self.total += other.total;
        self.kept.extend(other.kept.into_iter().take(room));
    }
}

/// Formats a client's text in a message: at most [`QUOTED_CHARS_MAX`] characters; misleading ones are escaped.
#[derive(Debug, Clone, Copy)]
pub struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(QUOTED_CHARS_MAX) {
            if text::misleads(character) {
                write!(formatter, "{}", character.escape_default())?;
            } else {
                write!(formatter, "{character}")?;
            }
        }
        if characters.next().is_some() { formatter.write_str("…") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
