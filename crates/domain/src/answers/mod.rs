//! Answers of engines, for all endpoints. [`Shape::parse`] turns each answer into strict JSON once; all later code reads only that.

mod cache_traces;
mod endings;
mod errors;
mod events;
mod messages;
mod received;
mod usage;
mod warnings;

use self::cache_traces::{copy_choices, copy_without_traces};
use self::endings::check_endings;
use self::errors::{find_error, is_reported};
use self::usage::Counts;
use crate::bodies::OUTPUT_WEIGHT;
use crate::json::{Json, JsonText, ObjectWriter, Repaired, Repairs, repair};

pub use self::errors::{ReportedError, find_message};
pub use self::received::page_title;
pub use self::warnings::Warning;
pub(crate) use self::warnings::warn;

/// An engine's whole answer, as the client will read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The object as compact text, with the client's name of the `model`. The rest of a valid answer is unchanged.
    pub body: JsonText,
    /// Tokens counted by the engine.
    pub usage: Usage,
    /// At most one for each param.
    pub warnings: Vec<Warning>,
}

/// Tokens as the engine counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of input.
    pub prompt_tokens: u64,
    /// Tokens of output, of all choices together; 0 for an endpoint without output.
    pub completion_tokens: u64,
    /// The engine's own total, or the sum.
    pub total_tokens: u64,
    /// Tokens of input found in the engine's prefix cache; `None` if it does not report them.
    pub cached_tokens: Option<u64>,
}

impl Usage {
    /// Input tokens plus twice the output tokens: the unit of fairness.
    pub fn cost(&self) -> i64 {
        let output = self.completion_tokens.saturating_mul(OUTPUT_WEIGHT.into());
        i64::try_from(self.prompt_tokens.saturating_add(output)).unwrap_or(i64::MAX)
    }

    /// Tokens of input and output, as providers count them against rate limits.
    pub fn tokens(&self) -> i64 {
        i64::try_from(self.prompt_tokens.saturating_add(self.completion_tokens)).unwrap_or(i64::MAX)
    }
}

/// Why an engine's 200 cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCompletion {
    /// Another body than a completion, described; the request is tried again, as after a 5xx.
    #[error("{0}")]
    NotACompletion(String),
    /// The engine reports that it aborted the generation.
    #[error("{0}")]
    Aborted(String),
    /// A 200 with an error.
    #[error("{message}")]
    Reported {
        /// The status in the error, else 500.
        status: u16,
        /// The engine's message.
        message: String,
    },
    /// The completion must be charged, but its usage is missing or invalid.
    #[error("{NO_USAGE}: {0}")]
    NoUsage(String),
}

/// The beginning of the message for an answer that cannot be charged. It identifies stored attempts, so it must not change.
pub const NO_USAGE: &str = "the engine's answer has no usable usage";

/// The param of the warning about a choice that reached its output limit without a text, and perhaps without a message.
pub(crate) const NO_TEXT: &str = "result_body.choices.message.content";

const DEFAULT_STATUS: u16 = 500;

/// The reader of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// The client's name of the model.
    pub client_model: &'a str,
    /// Whether the answer must be charged, so it needs a usage.
    pub is_charged: bool,
    /// Whether accounts share the prefix cache of the engine. Then cache counts, times, slots and costs are removed from the body.
    /// [`Completion::usage`] is unchanged.
    pub shares_cache: bool,
}

#[cfg(test)]
impl Reader<'static> {
    /// A reader for tests, which is charged.
    pub(crate) const CHARGED: Self = Self { client_model: "m", is_charged: true, shares_cache: false };
}

/// The form that an answer must have.
pub(crate) struct Shape {
    pub(crate) object: &'static str,
    /// The member with the choices or vectors.
    pub(crate) elements: &'static str,
    /// Whether it has choices, and its `usage` counts tokens of output.
    pub(crate) has_output: bool,
}

impl Shape {
    /// Reads the body of an engine's 200. `check` checks each element and may add warnings. The stored answer has the reader's `model`, the
    /// right `object`, and a `usage` with integer counts.
    pub(crate) fn parse(
        &self,
        answer: &[u8],
        reader: Reader<'_>,
        mut check: impl FnMut(Json<'_>, &mut Vec<Warning>) -> Result<(), &'static str>,
    ) -> Result<Completion, BadCompletion> {
        let Repaired { text, repairs } = self.read(answer)?;
        let object = text.as_json().to_object();
        let elements = object.as_ref().and_then(|it| it.get(self.elements)?.elements());
        let elements: Vec<Json<'_>> = elements.into_iter().flatten().collect();
        if elements.is_empty() {
            return Err(match find_error(text.as_json()) {
                Some(error) => reported(error),
                None => self.other(&format!("it has no {}", self.elements)),
            });
        }
        let mut warnings = Vec::new();
        if let Some(words) = describe_repairs(repairs) {
            warn(&mut warnings, "result_body", words);
        }
        let error = object.as_ref().and_then(|it| it.get("error")).filter(|error| is_reported(*error));
        if let Some(error) = error {
            let message = find_message(error).unwrap_or_else(|| "no message".to_owned());
            return Err(BadCompletion::Aborted(format!(
                "the engine reports an error beside its answer: {message}"
            )));
        }
        if self.has_output {
            check_endings(&elements, &mut warnings).map_err(BadCompletion::Aborted)?;
        }
        for element in &elements {
            check(*element, &mut warnings).map_err(|why| self.other(why))?;
        }
        let counts = Counts::read(object.as_ref().and_then(|it| it.get("usage")), self.has_output);
        if let Some(fault) = &counts.fault {
            if reader.is_charged {
                return Err(BadCompletion::NoUsage(fault.clone()));
            }
            let words = format!("The engine did not report a usable usage: {fault}. A missing count is 0.");
            warn(&mut warnings, Warning::USAGE, words);
        } else if let Some(words) = counts.doubt(&elements, self.has_output) {
            warn(&mut warnings, Warning::USAGE, words);
        }
        let lacks_text = warnings.iter().any(|warning| warning.param == NO_TEXT);
        let text = if lacks_text { messages::with_messages(text.as_json()) } else { text };
        let body = self.write(text.as_json(), reader, &counts);
        Ok(Completion { body, usage: counts.usage(), warnings })
    }

    fn read(&self, answer: &[u8]) -> Result<Repaired, BadCompletion> {
        let answer = events::without_trailer(answer);
        let error = match repair(answer) {
            Ok(repaired) => return Ok(repaired),
            Err(error) => error,
        };
        if !events::is_stream(answer) {
            return Err(BadCompletion::NotACompletion(received::name_received(answer, &error)));
        }
        events::assemble(answer, self.object).map_err(|why| {
            let words =
                format!("the engine answered with an event stream, which it was not asked for: {why}");
            BadCompletion::NotACompletion(words)
        })
    }

    fn other(&self, why: &str) -> BadCompletion {
        BadCompletion::NotACompletion(format!("the engine's answer is not a {} object: {why}", self.object))
    }

    fn write(&self, answer: Json<'_>, reader: Reader<'_>, counts: &Counts) -> JsonText {
        let Reader { client_model, shares_cache, .. } = reader;
        let mut writer = ObjectWriter::with_capacity(answer.as_str().len() + client_model.len());
        let (mut has_object, mut has_model, mut has_usage) = (false, false, false);
        for member in answer.members().into_iter().flatten() {
            match member.key().as_ref() {
                "model" => {
                    has_model = true;
                    writer.string("model", client_model);
                }
                "object" => {
                    has_object = true;
                    if member.value.decode_string().as_deref() == Some(self.object) {
                        writer.copy(member.raw_key, member.value);
                    } else {
                        writer.string("object", self.object);
                    }
                }
                "usage" => {
                    has_usage = true;
                    let usage = counts.write(Some(member.value), self.has_output, shares_cache);
                    writer.json("usage", usage.as_json());
                }
                key if shares_cache && key != self.elements => copy_without_traces(&member, &mut writer),
                _ if shares_cache && self.has_output => copy_choices(&member, &mut writer),
                _ => writer.copy(member.raw_key, member.value),
            }
        }
        if !has_object {
            writer.string("object", self.object);
        }
        if !has_model {
            writer.string("model", client_model);
        }
        if !has_usage {
            writer.json("usage", counts.write(None, self.has_output, shares_cache).as_json());
        }
        writer.finish()
    }
}

fn reported(ReportedError { status, message }: ReportedError) -> BadCompletion {
    let message =
        message.unwrap_or_else(|| "the engine answered with an error that has no message".to_owned());
    BadCompletion::Reported { status: status.unwrap_or(DEFAULT_STATUS), message }
}

/// `None` without repairs.
fn describe_repairs(repairs: Repairs) -> Option<String> {
    let made: Vec<_> = [
        (repairs.numbers, "numbers that are not finite became null"),
        (repairs.control_characters, "control characters were escaped"),
        (repairs.characters, "invalid characters became U+FFFD"),
        (repairs.repeated_keys, "of a repeated key the last value was kept"),
    ]
    .into_iter()
    .filter_map(|(is_made, words)| is_made.then_some(words))
    .collect();
    if made.is_empty() { None } else { Some(format!("The engine's JSON was invalid: {}.", made.join(", "))) }
}

#[cfg(test)]
mod tests;
