//! A choice of an answer, read in place.

use std::borrow::Cow;

use crate::json::Json;

/// The parts of a choice that are read. A member that is missing or of another type reads as absent.
#[derive(Default)]
pub(super) struct Choice<'a> {
    pub(super) finish_reason: Option<Cow<'a, str>>,
    pub(super) has_logprobs: bool,
    pub(super) content: Option<Json<'a>>,
    pub(super) calls: Option<Json<'a>>,
    /// Whether it calls a function in the form that preceded `tool_calls`.
    pub(super) has_old_call: bool,
    pub(super) is_refusal: bool,
    pub(super) has_message: bool,
    /// Whether it has a text in another place or form.
    pub(super) has_other_text: bool,
    pub(super) has_reasoning: bool,
}

impl<'a> Choice<'a> {
    pub(super) fn read(choice: Json<'a>) -> Self {
        let mut read = Self::default();
        for member in choice.members().into_iter().flatten() {
            match member.key().as_ref() {
                "finish_reason" => read.finish_reason = member.value.decode_string(),
                "logprobs" => read.has_logprobs = !member.value.is_null(),
                "message" if member.value.members().is_some() => {
                    read.has_message = true;
                    read.read_message(member.value);
                }
                "message" | "delta" | "text" => read.has_other_text |= !member.value.is_null(),
                _ => {}
            }
        }
        read
    }

    fn read_message(&mut self, message: Json<'a>) {
        for member in message.members().into_iter().flatten() {
            let value = member.value;
            match member.key().as_ref() {
                "content" => self.content = Some(value),
                "tool_calls" => self.calls = Some(value).filter(|calls| has_element(*calls)),
                "function_call" => self.has_old_call = !value.is_null(),
                "refusal" => self.is_refusal = !value.is_null(),
                "reasoning" | "reasoning_content" | "reasoning_details" => {
                    self.has_reasoning |= !matches!(value.as_str(), "null" | "\"\"" | "[]");
                }
                _ => {}
            }
        }
    }

    /// Whether it ended by itself.
    pub(super) fn is_whole(&self) -> bool {
        self.finish_reason.as_deref() == Some("stop")
    }

    pub(super) const fn has_call(&self) -> bool {
        self.calls.is_some() || self.has_old_call
    }
}

fn has_element(value: Json<'_>) -> bool {
    value.elements().is_some_and(|mut elements| elements.next().is_some())
}

pub(super) fn find<'a>(object: Json<'a>, key: &str) -> Option<Json<'a>> {
    object.members()?.find(|member| member.key() == key).map(|member| member.value)
}
