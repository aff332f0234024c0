//! The model's own probabilities of a token and its alternatives, before temperature, bias and penalties.

use super::{candidate, filters::descending, greatest};
use crate::model::Token;

/// Natural logarithms of probabilities at one place of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Logprobs {
    pub token: Token,
    /// At least [`LEAST`].
    pub logprob: f32,
    /// The most probable tokens, in descending order.
    pub top: Vec<(Token, f32)>,
}

/// Replaces a probability of nearly or exactly 0, as JSON has no infinity.
const LEAST: f32 = -9999.0;

/// `logits` is not empty; `top` is the number of alternatives.
#[must_use]
pub fn logprobs(logits: &[f32], token: Token, top: usize) -> Logprobs {
    let mut candidates: Vec<_> = (0..).zip(logits).map(|(token, &logit)| candidate(token, logit)).collect();
    let greatest = greatest(candidates.iter().copied()).logit;
    let total: f32 = candidates.iter().map(|candidate| (candidate.logit - greatest).exp()).sum();
    let of = |logit: f32| (logit - greatest - total.ln()).max(LEAST);
    let logprob = candidates.get(token as usize).map_or(LEAST, |candidate| of(candidate.logit));
    if top < candidates.len() && top > 0 {
        candidates.select_nth_unstable_by(top - 1, descending);
    }
    candidates.truncate(top);
    candidates.sort_unstable_by(descending);
    let top = candidates.iter().map(|candidate| (candidate.token, of(candidate.logit))).collect();
    Logprobs { token, logprob, top }
}
