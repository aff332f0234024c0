//! What the engine answers.

use crate::answers::{BadCompletion, Completion, Shape, check_elements};
use crate::bodies::count_inputs;
use crate::json::{Json, Kind};

const SHAPE: Shape = Shape { object: "list", has_output: false };

/// How many vectors a stored body asks for.
pub fn inputs_asked(body: Json<'_>) -> usize {
    let input = body.members().into_iter().flatten().find(|member| member.key() == "input");
    input.map_or(1, |input| count_inputs(input.value))
}

/// Reads the body of an engine's 200, which was asked for so many vectors. The client gets it with `model` set to `client_model`. Its
/// usage has no output, whatever the engine says of that.
///
/// # Errors
///
/// [`BadCompletion`] tells an answer worth another try from one that will not get better.
pub fn parse_embeddings(
    answer: &[u8],
    client_model: &str,
    asked: usize,
) -> Result<Completion, BadCompletion> {
    SHAPE.parse(answer, client_model, |list| {
        let has_vector = |element: Json<'_>| {
            let vector = element.to_object().and_then(|element| element.get("embedding"));
            let is_vector = vector.is_some_and(|vector| matches!(vector.kind(), Kind::Array | Kind::String));
            if is_vector { Ok(()) } else { Err("an element of data has no embedding") }
        };
        match check_elements(list, "data", has_vector)? {
            given if given == asked => Ok(()),
            given => Err(format!("data has {given} elements, and not {asked}")),
        }
    })
}
