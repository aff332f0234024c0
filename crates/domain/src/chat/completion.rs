//! What the engine answers.

use super::warnings::check_choice;
use crate::answers::{BadCompletion, Completion, Reader, Shape};

const SHAPE: Shape = Shape { object: "chat.completion", elements: "choices", has_output: true };

/// Reads the body of an engine's 200.
///
/// # Errors
///
/// [`BadCompletion`] tells an answer worth another try from one that will not get better.
pub fn parse_completion(answer: &[u8], reader: Reader<'_>) -> Result<Completion, BadCompletion> {
    SHAPE.parse(answer, reader, check_choice)
}
