//! Why a text is refused as JSON.

use std::str::Utf8Error;

use crate::faults::codes;

/// Where a text is no longer acceptable JSON, and what would be right there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: expected {expected}")]
pub struct JsonError {
    /// Bytes before the fault, counted from 0.
    pub offset: usize,
    /// What would be right at `offset`, in words.
    pub expected: &'static str,
    /// One of `invalid_json`, `invalid_utf8`, `lone_surrogate`, `number_out_of_range`, `too_deep`.
    pub code: &'static str,
}

impl JsonError {
    pub(super) fn syntax(offset: usize, expected: &'static str) -> Self {
        Self { offset, expected, code: codes::INVALID_JSON }
    }

    pub(super) fn utf8(error: Utf8Error) -> Self {
        Self { offset: error.valid_up_to(), expected: "valid UTF-8", code: codes::INVALID_UTF8 }
    }

    pub(super) fn lone_surrogate(offset: usize) -> Self {
        Self { offset, expected: "a surrogate escape in a pair", code: codes::LONE_SURROGATE }
    }

    pub(super) fn number(offset: usize) -> Self {
        Self { offset, expected: "a number that a double can hold", code: codes::NUMBER_OUT_OF_RANGE }
    }

    pub(super) fn too_deep(offset: usize) -> Self {
        Self { offset, expected: "nesting of at most 64 levels", code: codes::TOO_DEEP }
    }
}
