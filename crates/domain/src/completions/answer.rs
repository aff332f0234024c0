//! Answers of engines.

use crate::answers::{BadCompletion, Completion, Reader, Shape};
use crate::json::Kind;

const SHAPE: Shape = Shape { object: "text_completion", elements: "choices", has_output: true };

/// Reads the body of an engine's 200. [`BadCompletion`] says whether another try may help.
pub fn parse_completion(answer: &[u8], reader: Reader<'_>) -> Result<Completion, BadCompletion> {
    SHAPE.parse(answer, reader, |choice, _| {
        let text = choice.members().into_iter().flatten().find(|member| member.key() == "text");
        if text.is_some_and(|text| text.value.kind() == Kind::String) {
            Ok(())
        } else {
            Err("a choice has no text")
        }
    })
}
