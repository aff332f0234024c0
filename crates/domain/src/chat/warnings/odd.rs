//! Choices that are accepted although they are odd.

use super::choice::{Choice, find};
use crate::answers::{NO_TEXT, Warning, warn};
use crate::faults::codes;
use crate::json::{Json, minimize};

/// Checks that a choice has a message, or reached its output limit without one, and warns of a message that its client cannot use as it is.
pub(in crate::chat) fn check_choice(
    choice: Json<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<(), &'static str> {
    let choice = Choice::read(choice);
    let is_cut = choice.finish_reason.as_deref() == Some("length");
    if !choice.has_message && (!is_cut || choice.has_other_text) {
        return Err("a choice has no message");
    }
    let has_text = choice.content.is_some_and(|content| !content.is_null());
    if is_cut && !has_text && !choice.has_call() && !choice.has_reasoning {
        let words = "A choice has no text: it reached the output limit before its first word.";
        warn(warnings, NO_TEXT, words);
    }
    if choice.calls.and_then(Json::elements).into_iter().flatten().any(has_broken_arguments) {
        let words =
            "The arguments of a tool call are not JSON: the model did not finish them, or made a mistake.";
        warn(warnings, "result_body.choices.message.tool_calls", words);
    }
    Ok(())
}

fn has_broken_arguments(call: Json<'_>) -> bool {
    let arguments = find(call, "function").and_then(|function| find(function, "arguments")?.decode_string());
    let error = arguments.and_then(|arguments| minimize(arguments.as_bytes(), 0).err());
    // JSON that this service does not accept, such as deep nesting, may be right.
    error.is_some_and(|error| error.code == codes::INVALID_JSON)
}
