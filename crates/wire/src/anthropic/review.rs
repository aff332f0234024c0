//! Checks for the objects in a message's params. An unexpected form is refused, so that nothing is lost silently before the engine.

use std::borrow::Cow;
use std::fmt::Display;

use overnight_domain::faults::{Faults, Quoted, codes};
use overnight_domain::json::{Json, RawObject};

use super::path::Path;

#[derive(Default)]
pub(super) struct Review {
    pub(super) faults: Faults,
}

impl Review {
    pub(super) fn fault(&mut self, path: &Path<'_>, code: &'static str, message: impl Display) {
        self.faults.push(path, code, message);
    }

    pub(super) fn refuse(&mut self, path: &Path<'_>, message: impl Display) {
        self.fault(path, codes::NOT_ALLOWED, message);
    }

    /// The members of a value that must be an object with unique keys, all of them in `known`. A null member counts as absent, whatever its
    /// key.
    pub(super) fn object<'j>(
        &mut self,
        value: Json<'j>,
        path: &Path<'_>,
        known: &[&str],
    ) -> Option<RawObject<'j>> {
        let Some(object) = value.to_object() else {
            self.fault(path, codes::WRONG_TYPE, "must be an object");
            return None;
        };
        for key in object.duplicate_keys() {
            self.fault(&path.member(key), codes::DUPLICATE_KEY, "stands more than once in its object");
        }
        for (key, value) in object.members() {
            if !value.is_null() && !known.contains(&key.as_ref()) {
                self.fault(&path.member(key), codes::UNKNOWN_FIELD, "is not known here");
            }
        }
        Some(object)
    }

    /// The elements of a value that must be an array.
    pub(super) fn elements<'j>(&mut self, value: Json<'j>, path: &Path<'_>, of: &str) -> Vec<Json<'j>> {
        let elements = value.elements().map(Iterator::collect);
        elements.unwrap_or_else(|| {
            self.fault(path, codes::WRONG_TYPE, format_args!("must be an array of {of}"));
            Vec::new()
        })
    }

    pub(super) fn required<'j>(
        &mut self,
        object: &RawObject<'j>,
        path: &Path<'_>,
        key: &str,
    ) -> Option<Json<'j>> {
        let value = object.get_some(key);
        if value.is_none() {
            self.fault(&path.member(key), codes::MISSING, "is required");
        }
        value
    }

    pub(super) fn string<'j>(
        &mut self,
        object: &RawObject<'j>,
        path: &Path<'_>,
        key: &str,
    ) -> Option<Cow<'j, str>> {
        let value = self.required(object, path, key)?;
        self.text(value, &path.member(key))
    }

    pub(super) fn optional_string<'j>(
        &mut self,
        object: &RawObject<'j>,
        path: &Path<'_>,
        key: &str,
    ) -> Option<Cow<'j, str>> {
        let value = object.get_some(key)?;
        self.text(value, &path.member(key))
    }

    /// Whether the value of a key is `true`. Absent means false.
    pub(super) fn flag(&mut self, object: &RawObject<'_>, path: &Path<'_>, key: &str) -> bool {
        match object.get_some(key).map(Json::as_str) {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => {
                self.fault(&path.member(key), codes::WRONG_TYPE, "must be true or false");
                false
            }
        }
    }

    /// The text of a value that must be a string.
    pub(super) fn text<'j>(&mut self, value: Json<'j>, path: &Path<'_>) -> Option<Cow<'j, str>> {
        let text = value.decode_string();
        if text.is_none() {
            self.fault(path, codes::WRONG_TYPE, "must be a string");
        }
        text
    }

    /// Reports an unknown name under `key`.
    pub(super) fn unknown_value(&mut self, path: &Path<'_>, key: &str, known: &str, found: &str) {
        let message = format_args!("must be {known}, not '{}'", Quoted(found));
        self.fault(&path.member(key), codes::UNKNOWN_VALUE, message);
    }
}

/// The `type` of an object; empty if absent.
pub(super) fn kind_of<'j>(value: Json<'j>) -> Cow<'j, str> {
    let mut members = value.members().into_iter().flatten();
    let found = members.find(|member| member.key() == "type");
    found.and_then(|member| member.value.decode_string()).unwrap_or_default()
}
