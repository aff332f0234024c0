//! Estimates of requests before they run.

/// Bytes of English text in one token, on average.
const BYTES_PER_TOKEN: usize = 4;

/// An output token takes about as long as this many input tokens.
pub(crate) const OUTPUT_WEIGHT: u32 = 2;

/// The longest accepted answer of an engine, in bytes.
pub const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Bytes of an answer for each log probability: a token, its number and its bytes with the words around them.
const BYTES_PER_LOGPROB: u64 = 64;

/// Maximum of log probabilities that an answer has room for.
pub(crate) const LOGPROBS_MAX: u64 = ANSWER_BYTES_MAX as u64 / BYTES_PER_LOGPROB;

/// How a model's requests are estimated before they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizing {
    /// The output limit of a completion without one, in tokens.
    pub default_max_tokens: u32,
    /// Tokens of an image or another medium.
    pub image_tokens: u32,
    /// The fewest bytes of the prompt that may be a token; at least 1.
    pub bytes_per_token: u32,
}

/// The likely work of so many bytes of input, additional input tokens, and output tokens.
pub(crate) fn estimate(input_bytes: usize, input_tokens: usize, output_tokens: u32) -> u32 {
    let input = (input_bytes / BYTES_PER_TOKEN).saturating_add(input_tokens);
    let input = u32::try_from(input).unwrap_or(u32::MAX);
    input.saturating_add(output_tokens.saturating_mul(OUTPUT_WEIGHT))
}
