//! One choice while it is generated.

use super::job::{Choice, Finish, Job};
use crate::{
    constraint::{Constraint, ConstraintFailed},
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
    constraint: Option<Constraint>,
}

impl Answer {
    /// The `index`-th answer to a request.
    pub(super) fn new(job: &Job, index: u64, tokens_max: usize) -> Self {
        let Job { prompt, generation, constraint, .. } = job;
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
            constraint: constraint.clone(),
        }
    }

    /// Draws the next token; says with it how the answer ended, if it did.
    ///
    /// # Errors
    /// Its form was too much work to hold.
    pub(super) fn grow(
        &mut self,
        logits: &[f32],
        vocabulary: &dyn Vocabulary,
    ) -> Result<(Token, Option<Finish>), ConstraintFailed> {
        let allowed = self.constraint.as_mut().map(Constraint::allowed).transpose()?;
        let token = self.sampler.sample(logits, allowed.as_ref());
        self.tokens += 1;
        let ignores_end = self.ignores_end && self.constraint.is_none();
        if !ignores_end && vocabulary.ends_turn(token) {
            return Ok((token, Some(Finish::Stop)));
        }
        let is_whole = self.constraint.as_mut().map(|constraint| constraint.accept(token)).transpose()?;
        if let Some(rivals) = self.rivals {
            self.logprobs.push((self.text.len(), logprobs(logits, token, rivals)));
        }
        let stopped = self.text.push(vocabulary.piece(token));
        let stopped = stopped || is_whole == Some(true);
        let finish = match (stopped, self.tokens_max - self.tokens) {
            (true, _) => Some(Finish::Stop),
            (false, 0) => Some(Finish::Length),
            (false, _) => None,
        };
        Ok((token, finish))
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
