//! One step: put the batch together, compute it, draw tokens, end what has ended.

use std::ops::Range;

use super::{Failure, Finish, Running, Scheduler};
use crate::{
    constraint::Unkept,
    metrics::Ended,
    model::{BatchEntry, DecodeFailed, Decoder, PROMPT_CHUNK_MAX, STEP_TOKENS_MAX},
};

impl<D: Decoder> Scheduler<D> {
    /// Computes one step over the running sequences, of which there is at least one.
    pub(super) fn compute(&mut self) {
        let batch = self.gather_batch();
        if let Err(failure) = self.cache.decode(&batch) {
            return self.fail_batch(&batch, &failure);
        }
        let drawing = batch.iter().enumerate().filter(|(_, entry)| entry.wants_logits);
        let drawn: Vec<_> =
            drawing.map(|(index, entry)| (entry.sequence, self.draw(index, entry.sequence))).collect();
        for (sequence, drawn) in drawn {
            match drawn {
                Ok(Some(finish)) => self.end(sequence, finish),
                Ok(None) => {}
                Err(unkept) => self.fail_form(sequence, unkept),
            }
        }
    }

    /// One token of each sequence that answers, then pieces of prompts, the oldest first.
    fn gather_batch(&self) -> Vec<BatchEntry> {
        let mut batch = Vec::with_capacity(STEP_TOKENS_MAX);
        for running in &self.running {
            if let Some(token) = running.drawn {
                let position = self.cache.computed(running.sequence);
                batch.push(BatchEntry { token, position, sequence: running.sequence, wants_logits: true });
            }
        }
        for running in self.running.iter().filter(|running| running.drawn.is_none()) {
            let room = STEP_TOKENS_MAX.saturating_sub(batch.len()).min(PROMPT_CHUNK_MAX);
            let computed = self.cache.computed(running.sequence);
            let end = running.prompt.len().min(computed + room);
            batch.extend(prompt_entries(running, computed..end));
        }
        batch
    }

    /// Draws the next token of a sequence; says how its answer ended, if it did.
    fn draw(&mut self, index: usize, sequence: usize) -> Result<Option<Finish>, Unkept> {
        let Some(running) = self.running.iter_mut().find(|running| running.sequence == sequence) else {
            return Ok(None);
        };
        if running.drawn.is_none() && running.choice == 0 {
            self.metrics.count_prompt(running.prompt.len());
        }
        let (token, finish) = running.answer.grow(self.cache.logits(index), self.vocabulary.as_ref())?;
        self.metrics.count_generated();
        running.drawn = Some(token);
        Ok(finish)
    }

    fn end(&mut self, sequence: usize, finish: Finish) {
        let Some(place) = self.running.iter().position(|running| running.sequence == sequence) else {
            return;
        };
        let running = self.running.remove(place);
        self.cache.finish(sequence);
        if self.requests.end_choice(running.request, running.choice, running.answer.finish(finish)) {
            self.metrics.count_ended(match finish {
                Finish::Stop => Ended::Stop,
                Finish::Length => Ended::Length,
            });
        }
    }

    /// Ends a request with one answer whose form is too complex.
    fn fail_form(&mut self, sequence: usize, unkept: Unkept) {
        let Some(running) = self.running.iter().find(|running| running.sequence == sequence) else { return };
        let request = running.request;
        if self.requests.fail(request, &Failure::Form(unkept)) {
            self.metrics.count_ended(Ended::Error);
        }
        self.leave(request);
    }

    /// Answers every request of a batch that was not computed, and forgets what its sequences held.
    fn fail_batch(&mut self, batch: &[BatchEntry], failure: &DecodeFailed) {
        tracing::error!(tokens = batch.len(), %failure, "compute step");
        let is_hit = |running: &Running| batch.iter().any(|entry| entry.sequence == running.sequence);
        let (hit, staying): (Vec<_>, Vec<_>) = self.running.drain(..).partition(is_hit);
        self.running = staying;
        for running in hit {
            self.cache.forget(running.sequence);
            if self.requests.fail(running.request, &Failure::Decode(failure.clone())) {
                self.metrics.count_ended(Ended::Error);
            }
            self.leave(running.request);
        }
    }
}

fn prompt_entries(running: &Running, positions: Range<usize>) -> impl Iterator<Item = BatchEntry> {
    let (sequence, last) = (running.sequence, running.prompt.len() - 1);
    let tokens = running.prompt[positions.clone()].iter();
    tokens.zip(positions).map(move |(&token, position)| BatchEntry {
        token,
        position,
        sequence,
        wants_logits: position == last,
    })
}
