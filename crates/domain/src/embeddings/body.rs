//! A checked `request_body`.

use crate::bodies::{self, Inputs, Path, Review, Sizing};
use crate::faults::{Faults, Quoted, codes};
use crate::json::{Json, JsonText, RawObject};
use crate::limits::Limits;
use crate::money::TokenBound;

const INPUTS_MAX: usize = 2_048;

/// The longest vector that may be requested; no model has one nearly as long.
const DIMENSIONS_MAX: u32 = 1 << 20;

/// Encodings of a vector's numbers. Some engines know others, whose answers are not JSON.
const ENCODINGS: [&str; 2] = ["float", "base64"];

/// Fields that are read here, so they must not be hidden behind another spelling.
const READ: [&str; 6] = ["model", "input", "dimensions", "encoding_format", "stream", "stream_options"];

/// A valid embedding body, and the facts for its price and its schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingBody {
    /// The client's name of the model, not empty. It may not be configured.
    pub model: String,
    /// The texts to embed: 1 to 2,048.
    pub inputs: Inputs,
    /// The body as compact text, to be stored.
    pub body: JsonText,
}

impl EmbeddingBody {
    /// Checks `value`, which is at `path` in the client's body (`request_body`). Fails with every fault, each with its path, such as
    /// `request_body.input[0]`.
    pub fn parse(value: Json<'_>, path: &str, limits: &Limits) -> Result<Self, Faults> {
        let mut review = Review { limits, faults: Faults::default() };
        let path = Path::Root(path);
        let Some(body) = review.object(value, &path) else { return Err(review.faults) };
        let model = bodies::read_model(&mut review, &body, &path);
        let inputs = bodies::read_inputs(&mut review, &body, &path, "input", INPUTS_MAX);
        bodies::read_integer(&mut review, &body, &path, "dimensions", DIMENSIONS_MAX);
        check_encoding(&mut review, &body, &path);
        bodies::check_booleans(&mut review, &body, &path, &["stream"]);
        if body.get("stream").is_some_and(|stream| stream.as_str() == "true") {
            review.fault(
                &path.member("stream"),
                codes::NOT_ALLOWED,
                "is not possible: embeddings are one answer",
            );
        }
        bodies::check_depth(&mut review, &body, &path);
        bodies::check_names(&mut review, &body, &path, &READ);
        if review.faults.is_empty() {
            Ok(Self { model, inputs, body: value.to_text() })
        } else {
            Err(review.faults)
        }
    }

    /// The likely work for an engine, in tokens: input at four bytes a token.
    pub fn estimate_cost(&self) -> u32 {
        bodies::estimate(self.inputs.text_bytes, self.inputs.token_count, 0)
    }

    /// The expected maximum of tokens, which prices the hold: input by its bytes and tokens, with 4 an input.
    pub fn token_bound(&self, sizing: &Sizing) -> TokenBound {
        TokenBound { input: self.inputs.token_bound(sizing.bytes_per_token) as u64, output: 0 }
    }
}

fn check_encoding(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) {
    let Some(value) = body.get_some("encoding_format") else { return };
    let path = path.member("encoding_format");
    if !review.expect_string(value, &path) {
        return;
    }
    let name = value.decode_string().unwrap_or_default();
    if !ENCODINGS.contains(&name.as_ref()) {
        let message = format_args!("must be one of {}, not '{}'", ENCODINGS.join(", "), Quoted(&name));
        review.fault(&path, codes::UNKNOWN_VALUE, message);
    }
}
