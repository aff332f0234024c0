//! Answers of engines.

use super::warnings::check_choice;
use crate::answers::{BadCompletion, Completion, Reader, Shape};

const SHAPE: Shape = Shape { object: "chat.completion", elements: "choices", has_output: true };

/// Reads the body of an engine's 200. [`BadCompletion`] says whether another try may help.
pub fn parse_completion(answer: &[u8], reader: Reader<'_>) -> Result<Completion, BadCompletion> {
    SHAPE.parse(answer, reader, check_choice)
}
