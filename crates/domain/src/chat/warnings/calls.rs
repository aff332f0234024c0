//! `tool_choice`: whether a choice has the call that it must have.

use std::borrow::Cow;

use super::choice::{Choice, find};
use crate::json::Json;

pub(super) enum Call<'a> {
    Any,
    Named(Cow<'a, str>),
}

impl<'a> Call<'a> {
    /// Reads `tool_choice`; `None` if the model may answer without a call.
    pub(super) fn read(value: Json<'a>) -> Option<Self> {
        if let Some(word) = value.decode_string() {
            return (word == "required").then_some(Self::Any);
        }
        find(value, "function").and_then(|function| find(function, "name")?.decode_string()).map(Self::Named)
    }

    /// What shows that a choice lacks this call, if anything does.
    pub(super) fn find_fault(&self, choice: &Choice<'_>) -> Option<&'static str> {
        if !choice.is_whole() && choice.finish_reason.as_deref() != Some("tool_calls") {
            return None;
        }
        if !choice.has_call() {
            return Some("a choice calls no function");
        }
        let Self::Named(wanted) = self else { return None };
        let mut calls = choice.calls?.elements()?;
        let is_other = |call: Json<'_>| {
            let name = find(call, "function").and_then(|function| find(function, "name")?.decode_string());
            name.is_some_and(|name| name != *wanted)
        };
        calls.any(is_other).then_some("a choice calls another function")
    }
}
