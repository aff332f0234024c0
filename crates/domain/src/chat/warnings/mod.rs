//! Fields of a request that its engine did not honour, as far as the answer shows it, and odd choices.
//!
//! Engines ignore fields that they do not know. There is no warning without proof in the answer. The code builds no tree and does not
//! recurse, and its time is linear in the length of the answer.

mod asked;
mod calls;
mod choice;
mod form;
mod odd;

use self::asked::Asked;
use self::choice::Choice;
pub(super) use self::odd::check_choice;
use crate::answers::{Completion, Warning, warn};
use crate::json::Json;

/// The fields of a stored `body` that `completion` shows not to have been honoured, each at most once. A body that asks for no such thing
/// costs one pass over its members, and the answer is not read.
pub fn find_warnings(body: Json<'_>, completion: &Completion) -> Vec<Warning> {
    let asked = Asked::read(body);
    let written = completion.usage.completion_tokens;
    if !asked.needs_choices(written) {
        return Vec::new();
    }
    let seen = Seen::read(&asked, completion.body.as_json());
    let mut warnings = Vec::new();
    let mut warn = |param: &'static str, what: &str| {
        let field = param.rsplit('.').next().unwrap_or(param);
        warn(&mut warnings, param, format!("The engine did not honour `{field}`: {what}."));
    };
    if seen.choices < asked.choices {
        warn("request_body.n", &format!("the answer has {} of {} choices", seen.choices, asked.choices));
    }
    if let Some((field, limit)) = asked.limit {
        // The engine may have computed all requested choices, however many it answered.
        let allowed = limit.saturating_mul(asked.choices.max(seen.choices));
        if written > allowed {
            warn(field, &format!("the answer has {written} tokens, and at most {allowed} were asked for"));
        }
    }
    if seen.lacks_logprobs {
        warn("request_body.logprobs", "a choice has none");
    }
    if let Some(what) = seen.wrong_form {
        warn("request_body.response_format", what);
    }
    if let Some(what) = seen.wrong_call {
        warn("request_body.tool_choice", what);
    }
    warnings
}

#[derive(Default)]
struct Seen {
    choices: u64,
    lacks_logprobs: bool,
    wrong_form: Option<&'static str>,
    wrong_call: Option<&'static str>,
}

impl Seen {
    fn read(asked: &Asked<'_>, answer: Json<'_>) -> Self {
        let mut seen = Self::default();
        let member = answer.members().into_iter().flatten().find(|member| member.key() == "choices");
        for choice in member.and_then(|member| member.value.elements()).into_iter().flatten() {
            let choice = Choice::read(choice);
            seen.choices += 1;
            seen.lacks_logprobs |= asked.has_logprobs && !choice.has_logprobs;
            // A choice that was cut off, by its limit or by a stop text, shows neither.
            if asked.has_stop || choice.is_refusal {
                continue;
            }
            if let (Some(form), None) = (&asked.form, seen.wrong_form) {
                seen.wrong_form = form.find_fault(&choice);
            }
            if let (Some(call), None) = (&asked.call, seen.wrong_call) {
                seen.wrong_call = call.find_fault(&choice);
            }
        }
        seen
    }
}
