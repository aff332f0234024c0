//! The model's own probabilities of a token and of its rivals, before temperature, bias and penalties.

use super::{candidate, filters::descending, greatest};
use crate::model::Token;

/// Natural logarithms of probabilities at one place of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Logprobs {
    /// The token that was chosen.
    pub token: Token,
    /// Its logarithm, at least [`LEAST`].
    pub logprob: f32,
    /// The most probable tokens with theirs, the most probable first.
    pub top: Vec<(Token, f32)>,
}

/// What stands for a probability of nearly or exactly 0, as JSON has no infinity.
const LEAST: f32 = -9999.0;

/// The probabilities of `token` and of the `top` most probable ones under `logits`, which is not empty.
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
