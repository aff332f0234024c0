//! The tokens of an answer, as its engine counted them.

use super::Usage;
use super::cache_traces::copy_without_traces;
use crate::faults::Quoted;
use crate::json::{Json, JsonText, ObjectWriter, RawObject};

/// No answer has more tokens: sums of counts up to this fit everywhere.
const TOKENS_MAX: u64 = 1_000_000_000_000;

const ADDED_BYTES: usize = 96;

#[derive(Debug, Default)]
pub(super) struct Counts {
    prompt: Option<u64>,
    completion: Option<u64>,
    total: Option<u64>,
    cached: Option<u64>,
    /// Why the tokens cannot be charged.
    pub(super) fault: Option<String>,
}

impl Counts {
    /// Reads the usage of an answer. Tokens of output count only if the answer `has_output`. `5.0` counts as 5. A missing count is computed
    /// from the total, and a missing total from the counts.
    pub(super) fn read(usage: Option<Json<'_>>, has_output: bool) -> Self {
        let Some(value) = usage.filter(|usage| !usage.is_null()) else {
            return Self::faulty("usage is missing");
        };
        let Some(usage) = value.to_object() else { return Self::faulty("usage is not an object") };
        let count = |key: &str| usage.get(key).and_then(read_count);
        let mut counts = Self {
            prompt: count("prompt_tokens"),
            completion: if has_output { count("completion_tokens") } else { Some(0) },
            total: count("total_tokens"),
            cached: read_cached_tokens(&usage),
            fault: None,
        };
        let is_missing = |key: &str| usage.get_some(key).is_none();
        if is_missing("prompt_tokens") {
            counts.prompt =
                counts.total.zip(counts.completion).and_then(|(total, own)| total.checked_sub(own));
        }
        if has_output && is_missing("completion_tokens") {
            counts.completion =
                counts.total.zip(counts.prompt).and_then(|(total, own)| total.checked_sub(own));
        }
        if counts.prompt.is_none() || counts.completion.is_none() {
            let key = if counts.prompt.is_none() { "prompt_tokens" } else { "completion_tokens" };
            counts.fault = Some(match usage.get(key) {
                None => format!("usage.{key} is missing"),
                Some(value) => format!("usage.{key} is {}, not a count of tokens", Quoted(value.as_str())),
            });
        }
        counts
    }

    fn faulty(fault: &str) -> Self {
        Self { fault: Some(fault.to_owned()), ..Self::default() }
    }

    /// The charged tokens. A missing count is 0.
    pub(super) fn usage(&self) -> Usage {
        let (prompt_tokens, completion_tokens) = (self.prompt.unwrap_or(0), self.completion.unwrap_or(0));
        Usage {
            prompt_tokens,
            completion_tokens,
            total_tokens: self.total.unwrap_or(prompt_tokens + completion_tokens),
            cached_tokens: self.cached.map(|cached| cached.min(prompt_tokens)),
        }
    }

    /// The warning of an answer that has tokens although its engine counted none. `elements` are its choices or vectors.
    pub(super) fn doubt(&self, elements: &[Json<'_>], has_output: bool) -> Option<&'static str> {
        let is_zero = |count: Option<u64>| count == Some(0);
        match has_output {
            true => (is_zero(self.completion) && elements.iter().any(has_text))
                .then_some("The engine counted 0 tokens of output, and the answer has a text."),
            false => is_zero(self.prompt).then_some("The engine counted 0 tokens of input."),
        }
    }

    /// Writes the usage for the client: these counts as integers, and every other member of the engine's usage unchanged. If accounts share
    /// the prefix cache, members that reveal it are removed.
    pub(super) fn write(&self, usage: Option<Json<'_>>, has_output: bool, shares_cache: bool) -> JsonText {
        let counted = self.usage();
        let mut left = vec![("prompt_tokens", counted.prompt_tokens), ("total_tokens", counted.total_tokens)];
        if has_output {
            left.insert(1, ("completion_tokens", counted.completion_tokens));
        }
        let bytes = usage.map_or(0, |usage| usage.as_str().len());
        let mut writer = ObjectWriter::with_capacity(bytes + ADDED_BYTES);
        for member in usage.and_then(Json::members).into_iter().flatten() {
            match left.iter().position(|(key, _)| member.key() == *key) {
                Some(place) => {
                    let (key, count) = left.remove(place);
                    // A valid count keeps the spelling of its key.
                    if member.value.as_str() == count.to_string() {
                        writer.copy(member.raw_key, member.value);
                    } else {
                        writer.integer(key, integer(count));
                    }
                }
                None if shares_cache => copy_without_traces(&member, &mut writer),
                None => writer.copy(member.raw_key, member.value),
            }
        }
        left.into_iter().for_each(|(key, count)| writer.integer(key, integer(count)));
        writer.finish()
    }
}

/// Whether a choice has a text or a tool call, which took tokens.
fn has_text(choice: &Json<'_>) -> bool {
    let is_filled = |value: Json<'_>| !matches!(value.as_str(), "null" | "\"\"" | "[]");
    choice.members().into_iter().flatten().any(|member| match member.key().as_ref() {
        "text" => is_filled(member.value),
        "message" => member.value.members().into_iter().flatten().any(|member| {
            matches!(member.key().as_ref(), "content" | "tool_calls") && is_filled(member.value)
        }),
        _ => false,
    })
}

fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn read_count(value: Json<'_>) -> Option<u64> {
    let count = match value.as_integer_text() {
        Some(text) => text.parse().ok(),
        None => value.as_f64().filter(|count| count.fract() == 0.0).and_then(whole),
    };
    count.filter(|count| *count <= TOKENS_MAX)
}

/// A double holds every integer of that size.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
fn whole(count: f64) -> Option<u64> {
    (0.0..=TOKENS_MAX as f64).contains(&count).then_some(count as u64)
}

/// An invalid count is ignored, because it does not affect the charge.
fn read_cached_tokens(usage: &RawObject<'_>) -> Option<u64> {
    read_count(usage.get("prompt_tokens_details")?.to_object()?.get("cached_tokens")?)
}
