//! How requests are sized before they have run.

/// Bytes of English text in one token, on average.
const BYTES_PER_TOKEN: usize = 4;

/// An output token takes about as long as so many input tokens.
pub(crate) const OUTPUT_WEIGHT: u32 = 2;

/// The longest answer of an engine that is taken in, in bytes.
pub const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Bytes of an answer for each log probability: a token, its number and its bytes with the words around them.
const BYTES_PER_LOGPROB: u64 = 64;

/// The most log probabilities that an answer has room for.
pub(crate) const LOGPROBS_MAX: u64 = ANSWER_BYTES_MAX as u64 / BYTES_PER_LOGPROB;

/// How the requests to a model are sized before they have run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizing {
    /// The output limit of a completion that names none, in tokens.
    pub default_max_tokens: u32,
    /// How many tokens an image or another medium is taken to be.
    pub image_tokens: u32,
    /// How few bytes of the prompt may be a token; at least 1.
    pub bytes_per_token: u32,
}

/// The likely work of so many bytes of input, input tokens beside them, and output tokens.
pub(crate) fn estimate(input_bytes: usize, input_tokens: usize, output_tokens: u32) -> u32 {
    let input = (input_bytes / BYTES_PER_TOKEN).saturating_add(input_tokens);
    let input = u32::try_from(input).unwrap_or(u32::MAX);
    input.saturating_add(output_tokens.saturating_mul(OUTPUT_WEIGHT))
}
