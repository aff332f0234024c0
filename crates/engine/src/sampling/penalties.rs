//! Changes of logits that do not depend on other logits: bias and penalties.

use std::collections::{HashMap, HashSet};

use super::{Candidate, Sampling};
use crate::model::Token;

#[derive(Debug)]
pub(super) struct Penalties {
    frequency: f32,
    presence: f32,
    repetition: f32,
    bias: Vec<(Token, f32)>,
    answer: HashMap<Token, u16>,
    repeated: HashSet<Token>,
}

impl Penalties {
    pub(super) fn new(sampling: &Sampling, prompt: &[Token]) -> Self {
        let repeats = sampling.repetition_penalty != 1.0;
        Self {
            frequency: sampling.frequency_penalty,
            presence: sampling.presence_penalty,
            repetition: sampling.repetition_penalty,
            bias: sampling.bias.clone(),
            answer: HashMap::new(),
            repeated: if repeats { prompt.iter().copied().collect() } else { HashSet::new() },
        }
    }

    pub(super) fn remember(&mut self, token: Token) {
        if self.frequency != 0.0 || self.presence != 0.0 {
            let count = self.answer.entry(token).or_default();
            *count = count.saturating_add(1);
        }
        if self.repetition != 1.0 {
            self.repeated.insert(token);
        }
    }

    pub(super) fn are_none(&self) -> bool {
        self.bias.is_empty() && self.repeated.is_empty() && self.answer.is_empty()
    }

    /// `candidates` are all tokens in their order.
    pub(super) fn apply(&self, candidates: &mut [Candidate]) {
        let at = |token: Token| token as usize;
        for &(token, bias) in &self.bias {
            if let Some(candidate) = candidates.get_mut(at(token)) {
                candidate.logit += bias;
            }
        }
        for &token in &self.repeated {
            if let Some(Candidate { logit, .. }) = candidates.get_mut(at(token)) {
                *logit = if *logit > 0.0 { *logit / self.repetition } else { *logit * self.repetition };
            }
        }
        for (&token, &count) in &self.answer {
            if let Some(candidate) = candidates.get_mut(at(token)) {
                candidate.logit -= self.presence + self.frequency * f32::from(count);
            }
        }
    }
}
