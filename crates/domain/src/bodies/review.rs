//! One pass over a body: the operator's limits, and the checks that all objects and fields share.

use std::fmt::Display;

use super::path::Path;
use crate::faults::{Faults, Quoted, codes};
use crate::json::{Json, Kind, RawObject};
use crate::limits::Limits;

/// Longer keys resemble no known one.
const FOLDED_KEY_BYTES_MAX: usize = 96;

pub(crate) struct Review<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) faults: Faults,
}

impl Review<'_> {
    pub(crate) fn fault(&mut self, path: &Path<'_>, code: &'static str, message: impl Display) {
        self.faults.push(path, code, message);
    }

    /// The members of a value that must be an object, each key once.
    pub(crate) fn object<'j>(&mut self, value: Json<'j>, path: &Path<'_>) -> Option<RawObject<'j>> {
        let Some(object) = value.to_object() else {
            self.fault(path, codes::WRONG_TYPE, "must be an object");
            return None;
        };
        for key in object.duplicate_keys() {
            self.fault(&path.member(key), codes::DUPLICATE_KEY, "stands more than once in its object");
        }
        Some(object)
    }

    /// Refuses keys that differ from a name in `names` only in letter case.
    pub(crate) fn check_spelling(&mut self, object: &RawObject<'_>, path: &Path<'_>, names: &[&str]) {
        for (key, _) in object.members() {
            if let Some(folded) = fold(key).filter(|folded| names.contains(&folded.as_str())) {
                self.refuse_spelling(&path.member(key), &folded);
            }
        }
    }

    pub(crate) fn refuse_spelling(&mut self, path: &Path<'_>, name: &str) {
        let message = format_args!("must be spelt {name}: some engines take one for the other");
        self.fault(path, codes::NOT_ALLOWED, message);
    }

    /// The value under a required key.
    pub(crate) fn required<'j>(
        &mut self,
        object: &RawObject<'j>,
        path: &Path<'_>,
        key: &str,
    ) -> Option<Json<'j>> {
        let value = object.get(key);
        if value.is_none() {
            self.fault(&path.member(key), codes::MISSING, "is required");
        }
        value
    }

    /// Whether a value is a string; otherwise adds a fault.
    pub(crate) fn expect_string(&mut self, value: Json<'_>, path: &Path<'_>) -> bool {
        let is_string = value.kind() == Kind::String;
        if !is_string {
            self.fault(path, codes::WRONG_TYPE, "must be a string");
        }
        is_string
    }

    /// The name in `names` that a required string spells.
    pub(crate) fn one_of(
        &mut self,
        object: &RawObject<'_>,
        path: &Path<'_>,
        key: &str,
        names: &[&'static str],
    ) -> Option<&'static str> {
        let value = self.required(object, path, key)?;
        let path = path.member(key);
        if !self.expect_string(value, &path) {
            return None;
        }
        let text = value.decode_string()?;
        let known = names.iter().copied().find(|name| *name == text);
        if known.is_none() {
            let message = format_args!("must be one of {}, not '{}'", names.join(", "), Quoted(&text));
            self.fault(&path, codes::UNKNOWN_VALUE, message);
        }
        known
    }
}

/// `key` with letter case folded as Go's `encoding/json` does when it matches keys; `None` if unchanged.
///
/// Two letters beyond ASCII fold into it: the long s and the Kelvin sign.
pub(crate) fn fold(key: &str) -> Option<String> {
    let may_fold = key.bytes().any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii());
    if !may_fold || key.len() > FOLDED_KEY_BYTES_MAX {
        return None;
    }
    let folded = key.chars().map(|letter| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    });
    Some(folded.collect::<String>()).filter(|folded| folded != key)
}
