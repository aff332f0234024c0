//! Endings of choices: an engine that aborts a generation reports it in a choice.

use super::errors::{find_message, is_reported};
use super::warnings::{Warning, warn};
use crate::faults::Quoted;
use crate::json::{Json, Kind};

/// The `finish_reason` of an aborted generation: of vLLM and SGLang, OpenRouter, DeepSeek, Z.ai, TensorRT-LLM and Tenstorrent.
const ABORTED: [&str; 9] = [
    "abort",
    "aborted",
    "error",
    "insufficient_system_resource",
    "network_error",
    "cancelled",
    "canceled",
    "timeout",
    "timeout_error",
];

/// Warns of a choice without a `finish_reason`. Fails with the engine's message if it aborted a choice.
pub(super) fn check_endings(choices: &[Json<'_>], warnings: &mut Vec<Warning>) -> Result<(), String> {
    for choice in choices {
        let ending = Ending::read(*choice);
        if let Some(words) = ending.failure() {
            return Err(words);
        }
        if !ending.has_reason() {
            let words = "A choice has no finish_reason: its text may be incomplete.";
            warn(warnings, "result_body.choices.finish_reason", words);
        }
    }
    Ok(())
}

#[derive(Default)]
struct Ending<'a> {
    reason: Option<Json<'a>>,
    native_reason: Option<Json<'a>>,
    error: Option<Json<'a>>,
}

impl<'a> Ending<'a> {
    fn read(choice: Json<'a>) -> Self {
        let mut ending = Self::default();
        for member in choice.members().into_iter().flatten() {
            match member.key().as_ref() {
                "finish_reason" => ending.reason = Some(member.value),
                "native_finish_reason" => ending.native_reason = Some(member.value),
                "error" => ending.error = Some(member.value).filter(|error| is_reported(*error)),
                _ => {}
            }
        }
        ending
    }

    fn has_reason(&self) -> bool {
        let is_blank = |reason: Json<'_>| reason.decode_string().is_some_and(|it| it.trim().is_empty());
        self.reason.is_some_and(|reason| !reason.is_null() && !is_blank(reason))
    }

    fn failure(&self) -> Option<String> {
        let reason = self.reason.and_then(|reason| match reason.kind() {
            Kind::Object => reason.to_object()?.get("type")?.decode_string(),
            _ => reason.decode_string(),
        });
        let aborted =
            reason.as_deref().filter(|reason| ABORTED.iter().any(|name| name.eq_ignore_ascii_case(reason)));
        if aborted.is_none() && self.error.is_none() {
            return None;
        }
        let of_reason = self.reason.filter(|reason| reason.kind() == Kind::Object);
        let message = self.error.or(of_reason).and_then(find_message);
        let native = self.native_reason.and_then(Json::decode_string).filter(|it| Some(&**it) != aborted);
        let mut words = String::from("the engine aborted the generation");
        if let Some(reason) = aborted {
            words.push_str(&format!(" (finish_reason `{reason}`"));
            if let Some(native) = native {
                words.push_str(&format!(", native_finish_reason `{}`", Quoted(&native)));
            }
            words.push(')');
        }
        if let Some(message) = message {
            words.push_str(&format!(": {message}"));
        }
        Some(words)
    }
}
