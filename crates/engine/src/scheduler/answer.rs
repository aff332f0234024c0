//! One choice while it is generated.

use super::job::{Choice, Finish, Generation};
use crate::{
    model::{Token, Vocabulary},
    sampling::{Logprobs, Sampler, logprobs},
    text::Text,
};

/// The growing answer of one sequence.
#[derive(Debug)]
pub(super) struct Answer {
    sampler: Sampler,
    text: Text,
    tokens: usize,
    tokens_max: usize,
    ignores_end: bool,
    rivals: Option<usize>,
    logprobs: Vec<(usize, Logprobs)>,
}

impl Answer {
    pub(super) fn new(generation: &Generation, index: u64, prompt: &[Token], tokens_max: usize) -> Self {
        let mut sampling = generation.sampling.clone();
        sampling.seed = sampling.seed.wrapping_add(index);
        Self {
            sampler: Sampler::new(sampling, prompt),
            text: Text::new(generation.stops.clone()),
            tokens: 0,
            tokens_max,
            ignores_end: generation.ignores_end,
            rivals: generation.logprobs,
            logprobs: Vec::new(),
        }
    }

    /// Draws the next token; says with it how the answer ended, if it did.
    pub(super) fn grow(&mut self, logits: &[f32], vocabulary: &dyn Vocabulary) -> (Token, Option<Finish>) {
        let token = self.sampler.sample(logits);
        self.tokens += 1;
        if !self.ignores_end && vocabulary.ends_turn(token) {
            return (token, Some(Finish::Stop));
        }
        if let Some(rivals) = self.rivals {
            self.logprobs.push((self.text.len(), logprobs(logits, token, rivals)));
        }
        let stopped = self.text.push(vocabulary.piece(token));
        let finish = match (stopped, self.tokens_max - self.tokens) {
            (true, _) => Some(Finish::Stop),
            (false, 0) => Some(Finish::Length),
            (false, _) => None,
        };
        (token, finish)
    }

    pub(super) fn finish(self, finish: Finish) -> Choice {
        let length = self.text.len();
        let shown = self.logprobs.into_iter().filter(|(starts_at, _)| *starts_at < length);
        Choice {
            logprobs: shown.map(|(_, logprobs)| logprobs).collect(),
            text: self.text.finish(),
            finish,
            tokens: self.tokens,
        }
    }
}
