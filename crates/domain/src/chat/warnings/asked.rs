//! What a body asks for, as far as its answer can show that it was not honoured.

use super::calls::Call;
use super::form::Form;
use crate::json::Json;

pub(super) struct Asked<'a> {
    pub(super) choices: u64,
    /// The client's own output limit of one choice, and the path of its field.
    pub(super) limit: Option<(&'static str, u64)>,
    pub(super) has_logprobs: bool,
    pub(super) form: Option<Form<'a>>,
    pub(super) call: Option<Call<'a>>,
    /// Whether a stop text or token of the client ends the answer anywhere.
    pub(super) has_stop: bool,
}

impl<'a> Asked<'a> {
    /// Reads a stored body. A field of an undocumented shape asks for nothing.
    pub(super) fn read(body: Json<'a>) -> Self {
        let mut asked =
            Self { choices: 1, limit: None, has_logprobs: false, form: None, call: None, has_stop: false };
        for member in body.members().into_iter().flatten() {
            let value = member.value;
            match member.key().as_ref() {
                "n" => asked.choices = count(value).unwrap_or(1),
                "max_tokens" => asked.limit = limit("request_body.max_tokens", value).or(asked.limit),
                "max_completion_tokens" => {
                    asked.limit = asked.limit.or_else(|| limit("request_body.max_completion_tokens", value));
                }
                "logprobs" => asked.has_logprobs = value.as_str() == "true",
                "response_format" => asked.form = Form::read(value),
                "tool_choice" => asked.call = Call::read(value),
                "stop" | "stop_token_ids" => {
                    asked.has_stop |= !value.is_null() && value.as_str() != "[]";
                }
                _ => {}
            }
        }
        asked
    }

    /// Whether the choices of an answer with so many tokens must be read.
    pub(super) fn needs_choices(&self, written: u64) -> bool {
        self.choices > 1
            || self.has_logprobs
            || self.form.is_some()
            || self.call.is_some()
            || self.limit.is_some_and(|(_, limit)| written > limit)
    }
}

fn count(value: Json<'_>) -> Option<u64> {
    value.as_integer_text()?.parse().ok()
}

fn limit(field: &'static str, value: Json<'_>) -> Option<(&'static str, u64)> {
    Some((field, count(value)?))
}
