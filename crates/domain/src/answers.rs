//! What engines answer, whatever they were asked for.

use crate::bodies::OUTPUT_WEIGHT;
use crate::faults::Quoted;
use crate::json::{Json, JsonText, ObjectWriter, RawObject, minimize};

/// An engine's whole answer, as the client will read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The object as compact text, with `model` as the client named it and nothing else changed.
    pub body: JsonText,
    /// What the engine counted.
    pub usage: Usage,
}

/// Tokens as the engine counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of input.
    pub prompt_tokens: u64,
    /// Tokens of output, all choices together; 0 where there is no output.
    pub completion_tokens: u64,
    /// The engine's own total.
    pub total_tokens: u64,
    /// Tokens of input that it found in its prefix cache; `None` where it does not say.
    pub cached_tokens: Option<u64>,
}

impl Usage {
    /// What the request took of its engine, in tokens: input plus twice the output. Fairness counts it.
    pub fn cost(&self) -> i64 {
        let output = self.completion_tokens.saturating_mul(OUTPUT_WEIGHT.into());
        i64::try_from(self.prompt_tokens.saturating_add(output)).unwrap_or(i64::MAX)
    }

    /// Tokens of input and output, as providers count them against rate limits.
    pub fn tokens(&self) -> i64 {
        i64::try_from(self.prompt_tokens.saturating_add(self.completion_tokens)).unwrap_or(i64::MAX)
    }
}

/// No answer has more tokens: sums of counts up to this fit everywhere.
const TOKENS_MAX: u64 = 1_000_000_000_000;

/// Why an engine's 200 is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCompletion {
    /// Something else than a completion; the request is tried again, as after a 5xx.
    #[error("the engine's answer is no {object} object: {reason}")]
    NotACompletion {
        /// What `object` should have been.
        object: &'static str,
        /// Why it is none.
        reason: String,
    },
    /// A completion that cannot be charged; the request fails at once.
    #[error("the engine's usage is invalid: {0}")]
    BadUsage(String),
}

/// What an answer is checked against.
pub(crate) struct Shape {
    /// What its `object` says.
    pub(crate) object: &'static str,
    /// Whether its `usage` counts tokens of output.
    pub(crate) has_output: bool,
}

impl Shape {
    /// Reads the body of an engine's 200, whose other members `check` looks at. The client gets it with `model` set to `client_model`.
    pub(crate) fn parse(
        &self,
        answer: &[u8],
        client_model: &str,
        check: impl FnOnce(&RawObject<'_>) -> Result<(), String>,
    ) -> Result<Completion, BadCompletion> {
        let bad = |reason: String| BadCompletion::NotACompletion { object: self.object, reason };
        let answer = minimize(answer, 0).map_err(|error| bad(error.to_string()))?;
        let answer = answer.as_json();
        let completion = answer.to_object().ok_or_else(|| bad("it is no object".to_owned()))?;
        if let Some(key) = completion.duplicate_keys().first() {
            return Err(bad(format!("{} stands twice", Quoted(key))));
        }
        if completion.get("object").and_then(Json::decode_string).as_deref() != Some(self.object) {
            return Err(bad(format!("object is not \"{}\"", self.object)));
        }
        check(&completion).map_err(bad)?;
        let usage = read_usage(&completion, self.has_output)?;
        Ok(Completion { body: rename_model(answer, client_model), usage })
    }
}

/// The elements of an array that must have one at least, each of which `is_right`.
pub(crate) fn check_elements(
    completion: &RawObject<'_>,
    key: &str,
    is_right: impl Fn(Json<'_>) -> Result<(), &'static str>,
) -> Result<usize, String> {
    let mut count = 0;
    for element in completion.get(key).and_then(Json::elements).into_iter().flatten() {
        is_right(element)?;
        count += 1;
    }
    if count == 0 { Err(format!("{key} is no array with an element")) } else { Ok(count) }
}

fn read_usage(completion: &RawObject<'_>, has_output: bool) -> Result<Usage, BadCompletion> {
    let usage = completion.get("usage").and_then(Json::to_object);
    let usage = usage.ok_or_else(|| BadCompletion::BadUsage("usage is no object".to_owned()))?;
    if let Some(key) = usage.duplicate_keys().first() {
        return Err(BadCompletion::BadUsage(format!("usage.{} stands twice", Quoted(key))));
    }
    let count = |key: &str| {
        let text = usage.get(key).and_then(Json::as_integer_text);
        let count = text.and_then(|text| text.parse().ok()).filter(|count| *count <= TOKENS_MAX);
        count.ok_or_else(|| BadCompletion::BadUsage(format!("usage.{key} is no count of tokens")))
    };
    let prompt_tokens = count("prompt_tokens")?;
    Ok(Usage {
        prompt_tokens,
        completion_tokens: if has_output { count("completion_tokens")? } else { 0 },
        total_tokens: count("total_tokens")?,
        cached_tokens: read_cached_tokens(&usage).map(|cached| cached.min(prompt_tokens)),
    })
}

/// Nothing is charged by it, so what is no count is as good as none.
fn read_cached_tokens(usage: &RawObject<'_>) -> Option<u64> {
    let details = usage.get("prompt_tokens_details").and_then(Json::to_object)?;
    details.get("cached_tokens").and_then(Json::as_integer_text)?.parse().ok()
}

fn rename_model(answer: Json<'_>, client_model: &str) -> JsonText {
    let mut writer = ObjectWriter::with_capacity(answer.as_str().len() + client_model.len());
    let mut has_model = false;
    for member in answer.members().into_iter().flatten() {
        if member.key() == "model" {
            has_model = true;
            writer.string("model", client_model);
        } else {
            writer.copy(member.raw_key, member.value);
        }
    }
    if !has_model {
        writer.string("model", client_model);
    }
    writer.finish()
}
