//! Embedding requests and their answers.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Refusal, unsupported, within};
use crate::{embeddings::fit, model::Token};

/// OpenAI's limit.
const INPUTS_MAX: usize = 2_048;

#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddingRequest {
    pub model: String,
    /// At least one.
    pub inputs: Vec<Input>,
    pub shape: Shape,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Not empty.
    Text(String),
    /// Tokens of the model, used unchanged.
    Tokens(Vec<Token>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The leading numbers of a vector that are kept: at least one, and at most all.
    pub dimensions: usize,
    /// Whether vectors are sent as Base64 of little-endian 32-bit floats.
    pub is_base64: bool,
}

#[derive(Deserialize)]
struct Body<'a> {
    model: String,
    #[serde(borrow)]
    input: &'a RawValue,
    encoding_format: Option<String>,
    dimensions: Option<usize>,
}

/// `token_count` is the size of the vocabulary, `width` the size of the model's vectors. Fails with the first fault.
pub fn parse(body: &[u8], token_count: usize, width: usize) -> Result<EmbeddingRequest, Refusal> {
    let unread = |fault: serde_json::Error| Refusal {
        message: format!("The body is no valid request for embeddings: {fault}."),
        code: None,
        param: None,
    };
    let fields: Body<'_> = serde_json::from_slice(body).map_err(unread)?;
    unsupported::refuse_of_embeddings(&serde_json::from_slice::<BTreeMap<_, _>>(body).map_err(unread)?)?;
    let is_base64 = match fields.encoding_format.as_deref() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(_) => {
            let message = "encoding_format has to be \"float\" or \"base64\".";
            return Err(Refusal::of("encoding_format", message));
        }
    };
    let dimensions = within("dimensions", fields.dimensions.unwrap_or(width), 1, width)?;
    let inputs = inputs(fields.input, token_count)?;
    Ok(EmbeddingRequest { model: fields.model, inputs, shape: Shape { dimensions, is_base64 } })
}

/// The type of each input is checked before it is read, so that a long list is in memory once.
fn inputs(input: &RawValue, token_count: usize) -> Result<Vec<Input>, Refusal> {
    let form = |text: &str| text.strip_prefix('[').and_then(|rest| rest.trim_start().chars().next());
    let inputs = match form(input.get()) {
        None => vec![Input::Text(read(input)?)],
        Some('0'..='9' | '-') => vec![tokens(0, read(input)?, token_count)?],
        Some(first) => {
            let elements: Vec<&RawValue> = read(input)?;
            if elements.is_empty() || elements.len() > INPUTS_MAX {
                return Err(Refusal::of("input", format!("There can be 1 to {INPUTS_MAX} inputs.")));
            }
            let one = |(place, element)| match first {
                '"' => read(element).map(Input::Text),
                _ => tokens(place, read(element)?, token_count),
            };
            elements.into_iter().enumerate().map(one).collect::<Result<_, _>>()?
        }
    };
    let is_empty = |input: &Input| match input {
        Input::Text(text) => text.is_empty(),
        Input::Tokens(tokens) => tokens.is_empty(),
    };
    inputs.iter().position(is_empty).map_or(Ok(inputs), |place| Err(empty(place)))
}

fn read<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Result<T, Refusal> {
    let message = "input is a string, a list of strings, a list of tokens, or a list of lists of tokens.";
    serde_json::from_str(value.get()).map_err(|_| Refusal::of("input", message))
}

fn tokens(place: usize, list: Vec<i64>, token_count: usize) -> Result<Input, Refusal> {
    let known = |token: i64| Token::try_from(token).ok().filter(|token| (*token as usize) < token_count);
    let read = |token: i64| {
        let unknown =
            || format!("{} has {token}, which is no token of the model; it has {token_count}.", name(place));
        known(token).ok_or_else(|| Refusal::of(name(place), unknown()))
    };
    list.into_iter().map(read).collect::<Result<_, _>>().map(Input::Tokens)
}

fn name(place: usize) -> String {
    format!("input[{place}]")
}

#[must_use]
pub fn empty(place: usize) -> Refusal {
    Refusal::of(name(place), format!("{} is empty.", name(place)))
}

/// The refusal of an input that exceeds the context.
#[must_use]
pub fn too_long(place: usize, context: usize, tokens: &str) -> Refusal {
    let message = format!("The context holds {context} tokens, and {} has {tokens}.", name(place));
    Refusal { code: Some("context_length_exceeded"), ..Refusal::of(name(place), message) }
}

#[derive(Serialize)]
struct List<'a> {
    object: &'static str,
    data: Vec<Embedding>,
    model: &'a str,
    usage: Usage,
}

#[derive(Serialize)]
struct Embedding {
    object: &'static str,
    index: usize,
    embedding: Numbers,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Numbers {
    Floats(Vec<f32>),
    Base64(String),
}

#[derive(Serialize)]
struct Usage {
    prompt_tokens: usize,
    total_tokens: usize,
}

/// The answer, as JSON: vectors of length 1, in the order of the inputs.
#[must_use]
pub fn render(model: &str, vectors: Vec<Vec<f32>>, prompt_tokens: usize, shape: Shape) -> Vec<u8> {
    let datum = |(index, vector): (usize, Vec<f32>)| {
        let vector = fit(vector, shape.dimensions);
        let embedding = if shape.is_base64 {
            Numbers::Base64(
                STANDARD.encode(vector.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>()),
            )
        } else {
            Numbers::Floats(vector)
        };
        Embedding { object: "embedding", index, embedding }
    };
    let data = vectors.into_iter().enumerate().map(datum).collect();
    let usage = Usage { prompt_tokens, total_tokens: prompt_tokens };
    serde_json::to_vec(&List { object: "list", data, model, usage }).expect("numbers and strings are JSON")
}
