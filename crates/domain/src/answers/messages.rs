//! Messages of choices: some gateways omit the message if the model spent the whole output limit on its reasoning.

use crate::json::{Json, JsonText, ObjectWriter};

const ADDED_BYTES: usize = 64;

/// Adds a message without text to each choice that has none, because clients read the message of a choice without a check.
pub(super) fn with_messages(answer: Json<'_>) -> JsonText {
    let mut writer = ObjectWriter::with_capacity(answer.as_str().len() + ADDED_BYTES);
    for member in answer.members().into_iter().flatten() {
        if member.key() == "choices" {
            let choices: Vec<_> = member.value.elements().into_iter().flatten().map(with_message).collect();
            writer.array("choices", choices.iter().map(JsonText::as_json));
        } else {
            writer.copy(member.raw_key, member.value);
        }
    }
    writer.finish()
}

fn with_message(choice: Json<'_>) -> JsonText {
    let mut writer = ObjectWriter::with_capacity(choice.as_str().len() + ADDED_BYTES);
    let mut has_message = false;
    for member in choice.members().into_iter().flatten() {
        if member.key() != "message" || member.value.members().is_some() {
            has_message |= member.key() == "message";
            writer.copy(member.raw_key, member.value);
        }
    }
    if !has_message {
        let mut message = ObjectWriter::with_capacity(ADDED_BYTES);
        message.string("role", "assistant");
        message.null("content");
        writer.json("message", message.finish().as_json());
    }
    writer.finish()
}
