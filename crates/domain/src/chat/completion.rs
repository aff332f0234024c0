//! What the engine answers.

use crate::answers::{BadCompletion, Completion, Shape, check_elements};
use crate::json::Json;

const SHAPE: Shape = Shape { object: "chat.completion", has_output: true };

/// Reads the body of an engine's 200. The client gets it with `model` set to `client_model`.
///
/// # Errors
///
/// [`BadCompletion`] tells an answer worth another try from one that will not get better.
pub fn parse_completion(answer: &[u8], client_model: &str) -> Result<Completion, BadCompletion> {
    SHAPE.parse(answer, client_model, |completion| {
        let has_message = |choice: Json<'_>| {
            let message = choice.to_object().and_then(|choice| choice.get("message"));
            let is_there = message.is_some_and(|message| message.members().is_some());
            if is_there { Ok(()) } else { Err("a choice has no message") }
        };
        check_elements(completion, "choices", has_message).map(drop)
    })
}
