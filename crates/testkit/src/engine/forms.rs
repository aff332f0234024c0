//! The endpoints other than chat completions: their requests, represented as a chat with a message for each text, and the forms of their
//! answers.

use std::borrow::Cow;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::prompt::digest;

const DIMENSIONS: usize = 4;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// A `chat.completion`.
    #[default]
    Chat,
    /// A `text_completion`, of prompts with these digests.
    Texts(Vec<u64>),
    /// A `list` of vectors of inputs with these digests, as base64 or as numbers.
    Vectors(Vec<u64>, bool),
}

/// The body of an endpoint other than chat completions.
#[derive(Deserialize)]
struct Plain {
    model: Value,
    prompt: Option<Value>,
    input: Option<Value>,
    max_tokens: Option<Value>,
    n: Option<Value>,
    logprobs: Option<Value>,
    stream: Option<Value>,
    cache_salt: Option<Value>,
    encoding_format: Option<String>,
}

impl Form {
    /// Reads the request at a path as a chat, with the form of its answer.
    pub(super) fn read<'a>(path: &str, body: &'a [u8]) -> Result<(Self, Cow<'a, [u8]>), String> {
        let is_completion = match path {
            "/v1/completions" => true,
            "/v1/embeddings" => false,
            _ => return Ok((Self::Chat, Cow::Borrowed(body))),
        };
        let plain: Plain = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let given = if is_completion { plain.prompt } else { plain.input };
        let texts = texts(given.ok_or("there is nothing to work on")?);
        let digests = texts.iter().map(|text| digest(text)).collect();
        let messages: Vec<_> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
        let chat = json!({
            "model": plain.model, "messages": messages, "max_tokens": plain.max_tokens, "n": plain.n,
            "logprobs": plain.logprobs.map(|_| true), "stream": plain.stream, "cache_salt": plain.cache_salt,
        });
        let form = match plain.encoding_format {
            _ if is_completion => Self::Texts(digests),
            encoding => Self::Vectors(digests, encoding.as_deref() == Some("base64")),
        };
        Ok((form, Cow::Owned(chat.to_string().into_bytes())))
    }

    pub(super) fn texts(&self) -> usize {
        match self {
            Self::Chat => 1,
            Self::Texts(digests) | Self::Vectors(digests, _) => digests.len(),
        }
    }

    /// The prefix of the answer's identifier, and the name of its object.
    pub(super) const fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Chat => ("chatcmpl", "chat.completion"),
            Self::Texts(_) => ("cmpl", "text_completion"),
            Self::Vectors(..) => ("embd", "list"),
        }
    }
}

/// The texts of a prompt or an input; tokens become their own text.
fn texts(given: Value) -> Vec<String> {
    match given {
        Value::Array(elements) if !elements.iter().all(Value::is_number) => {
            elements.into_iter().flat_map(texts).collect()
        }
        Value::String(text) => vec![text],
        tokens => vec![tokens.to_string()],
    }
}

pub(super) fn write_vectors(digests: &[u64], is_base64: bool, body: &mut String) {
    for (index, digest) in digests.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let vector: Vec<f32> =
            digest.to_be_bytes().iter().take(DIMENSIONS).map(|byte| f32::from(*byte) / 256.0).collect();
        let vector = if is_base64 {
            let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            json!(STANDARD.encode(bytes))
        } else {
            json!(vector)
        };
        let _ = write!(body, r#"{comma}{{"object":"embedding","index":{index},"embedding":{vector}}}"#);
    }
}
