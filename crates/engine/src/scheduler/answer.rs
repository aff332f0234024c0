//! One choice while it is generated.

use std::time::Duration;

use super::job::{Choice, Finish, Generation, Job};
use crate::{
    constraint::{Guide, Unkept},
    model::{Token, Vocabulary},
    sampling::{Logprobs, Sampler, TokenSet, logprobs},
    text::Text,
};

#[derive(Debug)]
pub(super) struct Answer {
    sampler: Sampler,
    guide: Option<Guide>,
    /// The last token, until its form has read it.
    unread: Option<Token>,
    /// The tokens that its form allows next, once they are found.
    mask: Option<TokenSet>,
    allowed: Option<TokenSet>,
    stop_tokens: Vec<Token>,
    text: Text,
    tokens: usize,
    tokens_min: usize,
    tokens_max: usize,
    ignores_end: bool,
    rivals: Option<usize>,
    logprobs: Vec<(usize, Logprobs)>,
}

impl Answer {
    /// Choice `index` of a job, of at most `tokens_max` tokens.
    pub(super) fn new(job: &Job, index: u64, tokens_max: usize) -> Self {
        let generation: &Generation = &job.generation;
        let mut sampling = generation.sampling.clone();
        sampling.seed = sampling.seed.wrapping_add(index);
        Self {
            sampler: Sampler::new(sampling, &job.prompt),
            guide: job.grammar.as_ref().map(|grammar| grammar.start()),
            unread: None,
            mask: None,
            allowed: generation.allowed.clone(),
            stop_tokens: generation.stop_tokens.clone(),
            text: Text::new(generation.stops.clone(), generation.keeps_stop),
            tokens: 0,
            tokens_min: generation.tokens_min,
            tokens_max,
            ignores_end: generation.ignores_end && job.grammar.is_none(),
            rivals: generation.logprobs,
            logprobs: Vec::new(),
        }
    }

    /// Whether no token was drawn yet.
    pub(super) fn is_empty(&self) -> bool {
        self.tokens == 0
    }

    /// Whether it has a form whose next tokens were not found yet.
    pub(super) fn lacks_mask(&self) -> bool {
        self.guide.is_some() && self.mask.is_none()
    }

    /// Finds the tokens that its form allows next; returns how the answer ended, if it did. Fails if the form is too complex here.
    pub(super) fn find_mask(&mut self) -> Result<Option<Finish>, Unkept> {
        let Some(guide) = &mut self.guide else { return Ok(None) };
        self.mask = guide.advance(self.unread.take())?;
        if self.mask.is_none() {
            return Ok(Some(Finish::Stop));
        }
        Ok((self.tokens == self.tokens_max).then_some(Finish::Length))
    }

    /// The time that its form took since the last call; zero without a form.
    pub(super) fn take_form_time(&mut self) -> Duration {
        self.guide.as_mut().map_or(Duration::ZERO, Guide::take_time)
    }

    /// Fails, if it has a form, because that took `time` in all.
    pub(super) fn refuse_form(&self, time: Duration) -> Result<(), Unkept> {
        self.guide.as_ref().map_or(Ok(()), |guide| Err(guide.refuse(time)))
    }

    /// Draws the next token, for which it has its mask, and returns how the answer ended, if that is known before its form has read the token.
    pub(super) fn grow(&mut self, logits: &[f32], vocabulary: &dyn Vocabulary) -> (Token, Option<Finish>) {
        let allowed = self.find_allowed(vocabulary);
        let token = self.sampler.sample(logits, allowed.as_ref().or(self.allowed.as_ref()));
        self.tokens += 1;
        if self.stop_tokens.contains(&token) || (!self.ignores_end && vocabulary.ends_turn(token)) {
            return (token, Some(Finish::Stop));
        }
        if let Some(rivals) = self.rivals {
            self.logprobs.push((self.text.len(), logprobs(logits, token, rivals)));
        }
        let stopped = self.text.push(vocabulary.piece(token));
        self.unread = self.guide.is_some().then_some(token);
        let is_cut = self.unread.is_none() && self.tokens == self.tokens_max;
        (token, if stopped { Some(Finish::Stop) } else { is_cut.then_some(Finish::Length) })
    }

    /// The tokens that may come next; `None` if they are the same at every place.
    fn find_allowed(&mut self, vocabulary: &dyn Vocabulary) -> Option<TokenSet> {
        let is_short = self.tokens < self.tokens_min;
        let mut allowed = match (self.mask.take(), &self.allowed) {
            (Some(mask), _) => mask,
            (None, _) if !is_short => return None,
            (None, Some(allowed)) => allowed.clone(),
            (None, None) => TokenSet::all(vocabulary.token_count()),
        };
        if is_short {
            let own = if self.ignores_end { &[] } else { vocabulary.end_tokens() };
            allowed.remove_unless_last(own.iter().chain(&self.stop_tokens).copied());
        }
        Some(allowed)
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
