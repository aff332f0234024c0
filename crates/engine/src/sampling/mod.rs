//! Chooses the next token from logits.
//!
//! The order is vLLM's: bias and penalties, the allowed tokens, temperature, `min_p`, `top_k`, `top_p`, then one draw. Temperature 0 takes
//! the greatest logit, the first among equals.

mod filters;
mod logprobs;
mod penalties;
#[cfg(test)]
mod tests;
mod token_set;

use self::penalties::Penalties;
pub use self::{
    logprobs::{Logprobs, logprobs},
    token_set::TokenSet,
};
use crate::{chance::Chance, model::Token};

/// How a choice's tokens are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// 0 or more; 0 is greedy.
    pub temperature: f32,
    /// Keep the most probable tokens that together reach this probability; 1 keeps all.
    pub top_p: f32,
    /// Keep this many tokens; 0 keeps all.
    pub top_k: usize,
    /// Keep tokens at least this probable relative to the most probable one; 0 keeps all.
    pub min_p: f32,
    /// Subtracted from a logit for every time the answer has the token.
    pub frequency_penalty: f32,
    /// Subtracted from a logit if the answer has the token.
    pub presence_penalty: f32,
    /// Divides a positive logit and multiplies a negative one if prompt or answer have the token; 1 has no effect.
    pub repetition_penalty: f32,
    pub bias: Vec<(Token, f32)>,
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            min_p: 0.0,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            repetition_penalty: 1.0,
            bias: Vec::new(),
            seed: 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    token: Token,
    logit: f32,
}

#[derive(Debug)]
pub struct Sampler {
    sampling: Sampling,
    penalties: Penalties,
    chance: Chance,
}

impl Sampler {
    #[must_use]
    pub fn new(sampling: Sampling, prompt: &[Token]) -> Self {
        let chance = Chance::new(sampling.seed);
        Self { penalties: Penalties::new(&sampling, prompt), chance, sampling }
    }

    /// Chooses the next token and remembers it for the penalties.
    ///
    /// A NaN logit counts as impossible. `logits` is not empty, and some of its tokens are `allowed`.
    pub fn sample(&mut self, logits: &[f32], allowed: Option<&TokenSet>) -> Token {
        let all = (0..).zip(logits).map(|(token, &logit)| candidate(token, logit));
        let token = if self.sampling.temperature == 0.0 && allowed.is_none() && self.penalties.are_none() {
            // The list of candidates would cost more than everything else.
            greatest(all).token
        } else {
            self.choose(all.collect(), allowed)
        };
        self.penalties.remember(token);
        token
    }

    fn choose(&mut self, mut candidates: Vec<Candidate>, allowed: Option<&TokenSet>) -> Token {
        self.penalties.apply(&mut candidates);
        if let Some(allowed) = allowed {
            candidates.retain(|candidate| allowed.contains(candidate.token));
        }
        match self.sampling.temperature {
            0.0 => greatest(candidates.iter().copied()).token,
            temperature => self.draw(candidates, temperature),
        }
    }

    fn draw(&mut self, mut candidates: Vec<Candidate>, temperature: f32) -> Token {
        let greatest = greatest(candidates.iter().copied());
        for candidate in &mut candidates {
            candidate.logit = (candidate.logit - greatest.logit) / temperature;
        }
        filters::keep_min_p(&mut candidates, self.sampling.min_p);
        filters::keep_top_k(&mut candidates, self.sampling.top_k);
        filters::keep_top_p(&mut candidates, self.sampling.top_p);
        let total: f32 = candidates.iter().map(|candidate| candidate.logit.exp()).sum();
        let mut left = self.chance.next_unit() * total;
        for candidate in &candidates {
            left -= candidate.logit.exp();
            if left < 0.0 {
                return candidate.token;
            }
        }
        greatest.token
    }
}

fn candidate(token: Token, logit: f32) -> Candidate {
    let logit = if logit.is_nan() { f32::NEG_INFINITY } else { logit.clamp(f32::NEG_INFINITY, f32::MAX) };
    Candidate { token, logit }
}

fn greatest(candidates: impl Iterator<Item = Candidate>) -> Candidate {
    let greater = |best: Candidate, next: Candidate| if next.logit > best.logit { next } else { best };
    candidates.reduce(greater).unwrap_or(Candidate { token: 0, logit: 0.0 })
}
