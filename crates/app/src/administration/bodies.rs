//! The bodies of these calls: small objects. Every fault is reported.

use bytes::Bytes;
use overnight_domain::faults::{Faults, codes};
use overnight_domain::json::{Json, JsonText, Kind, RawObject};
use overnight_domain::money::Credits;

use crate::errors::AppError;
use crate::input;

/// Reads an object whose members must all be in `known`.
pub(super) fn read<T>(
    body: &Bytes,
    known: &[&str],
    take: impl FnOnce(&mut Members<'_>) -> T,
) -> Result<T, AppError> {
    let text: JsonText = input::read(body)?;
    let mut faults = Faults::default();
    let Some(object) = input::object(&text, known, &mut faults) else { return Err(faults.into()) };
    let mut members = Members { object, faults };
    let taken = take(&mut members);
    if members.faults.is_empty() { Ok(taken) } else { Err(members.faults.into()) }
}

/// The members of an object, and its faults.
pub(super) struct Members<'j> {
    object: RawObject<'j>,
    faults: Faults,
}

impl Members<'_> {
    fn get<T>(&mut self, name: &str, expected: &str, read: impl FnOnce(Json<'_>) -> Option<T>) -> Option<T> {
        let value = self.object.get_some(name)?;
        let read = read(value);
        if read.is_none() {
            self.faults.push(name, codes::WRONG_TYPE, expected);
        }
        read
    }

    /// `None` if it is absent or null.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.get(name, "must be a string", |value| value.decode_string().map(Into::into))
    }

    pub(super) fn required_text(&mut self, name: &str) -> String {
        if self.object.get_some(name).is_none() {
            self.faults.push(name, codes::MISSING, "is needed");
        }
        self.text(name).unwrap_or_default()
    }

    /// False if it is absent or null.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        let read = |value: Json<'_>| match value.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        self.get(name, "must be true or false", read).unwrap_or(false)
    }

    /// A whole number above 0; `None` if it is absent or null.
    pub(super) fn positive(&mut self, name: &str) -> Option<i64> {
        self.get(name, "must be a whole number above 0", positive)
    }

    /// Reports an absent member; null is accepted.
    pub(super) fn require(&mut self, name: &str) {
        if self.object.get(name).is_none() {
            self.faults.push(name, codes::MISSING, "is needed");
        }
    }

    /// Reports a member that must be absent.
    pub(super) fn refuse(&mut self, name: &str, message: &str) {
        if self.object.get_some(name).is_some() {
            self.faults.push(name, codes::CONFLICT, message);
        }
    }

    /// A required amount of credits: `Some(None)` for null, `None` if it is absent or wrong.
    pub(super) fn credits(&mut self, name: &str) -> Option<Option<Credits>> {
        self.require(name);
        if self.object.get(name)?.is_null() {
            return Some(None);
        }
        let read = |value: Json<'_>| value.decode_string()?.parse().ok();
        self.get(name, "must be a number of credits in a string, such as \"25\" or \"0.5\", or null", read)
            .map(Some)
    }

    /// A limit: a whole number above 0, or `unlimited` for "none"; `None` if it is absent, `Some(None)` for null.
    pub(super) fn limit(&mut self, name: &str, unlimited: i64) -> Option<Option<i64>> {
        let value = self.object.get(name)?;
        if value.is_null() {
            return Some(None);
        }
        let read = |value: Json<'_>| match value.kind() {
            Kind::String => value.decode_string().filter(|text| text == "none").map(|_| unlimited),
            _ => positive(value),
        };
        self.get(name, "must be a whole number above 0, \"none\", or null for that of the settings", read)
            .map(Some)
    }
}

fn positive(value: Json<'_>) -> Option<i64> {
    value.as_str().parse().ok().filter(|number| *number > 0)
}
