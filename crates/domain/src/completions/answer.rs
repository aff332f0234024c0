//! What the engine answers.

use crate::answers::{BadCompletion, Completion, Shape, check_elements};
use crate::json::{Json, Kind};

const SHAPE: Shape = Shape { object: "text_completion", has_output: true };

/// Reads the body of an engine's 200. The client gets it with `model` set to `client_model`.
///
/// # Errors
///
/// [`BadCompletion`] tells an answer worth another try from one that will not get better.
pub fn parse_completion(answer: &[u8], client_model: &str) -> Result<Completion, BadCompletion> {
    SHAPE.parse(answer, client_model, |completion| {
        let has_text = |choice: Json<'_>| {
            let text = choice.to_object().and_then(|choice| choice.get("text"));
            if text.is_some_and(|text| text.kind() == Kind::String) {
                Ok(())
            } else {
                Err("a choice has no text")
            }
        };
        check_elements(completion, "choices", has_text).map(drop)
    })
}
