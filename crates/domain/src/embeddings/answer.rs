//! Answers of engines.

use crate::answers::{BadCompletion, Completion, Reader, Shape};
use crate::bodies::count_inputs;
use crate::json::{Json, Kind};

const SHAPE: Shape = Shape { object: "list", elements: "data", has_output: false };

/// The number of vectors that a stored body requests.
pub fn inputs_asked(body: Json<'_>) -> usize {
    let input = body.members().into_iter().flatten().find(|member| member.key() == "input");
    input.map_or(1, |input| count_inputs(input.value))
}

/// Reads the body of an engine's 200, which must have `asked` vectors. Output tokens in its usage do not count. [`BadCompletion`] says
/// whether another try may help.
pub fn parse_embeddings(
    answer: &[u8],
    reader: Reader<'_>,
    asked: usize,
) -> Result<Completion, BadCompletion> {
    let mut given = 0;
    let list = SHAPE.parse(answer, reader, |element, _| {
        given += 1;
        let vector = element.members().into_iter().flatten().find(|member| member.key() == "embedding");
        let is_vector = vector.is_some_and(|it| matches!(it.value.kind(), Kind::Array | Kind::String));
        if is_vector { Ok(()) } else { Err("an element of data has no embedding") }
    })?;
    if given == asked {
        return Ok(list);
    }
    let words = format!("the engine's answer has {given} embeddings of {asked}");
    Err(BadCompletion::NotACompletion(words))
}
