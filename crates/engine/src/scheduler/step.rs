//! One step: build the batch, compute it, draw tokens, end what is complete.

use std::ops::Range;

use super::{Begun, Failure, Finish, Running, Scheduler};
use crate::{
    clock::Stopwatch,
    constraint::Unkept,
    metrics::Ended,
    model::{BatchEntry, DecodeFailed, Decoder, STEP_TOKENS_MAX},
};

impl<D: Decoder> Scheduler<D> {
    /// Computes one step over the running sequences, at least one.
    pub(super) fn compute(&mut self) {
        let batch = self.gather_batch();
        if batch.is_empty() {
            return;
        }
        let stopwatch = Stopwatch::start();
        if let Err(failure) = self.cache.decode(&batch) {
            return self.fail_batch(&batch, &failure);
        }
        let drawing = batch.iter().enumerate().filter(|(_, entry)| entry.wants_logits);
        let drawn: Vec<_> =
            drawing.map(|(index, entry)| (entry.sequence, self.draw(index, entry.sequence))).collect();
        // A GPU computes until its results are read for drawing.
        let time = stopwatch.elapsed();
        self.debts.pay(time);
        for (sequence, finish) in drawn {
            let Some(place) = self.place_of(sequence) else { continue };
            self.requests.add_step(self.running[place].request, time);
            if let Some(finish) = finish {
                self.end(sequence, finish);
            }
        }
    }

    /// Pieces of prompts, the oldest first, or one token of each answering sequence: alternately if there are both.
    ///
    /// Not together: flash attention works in tiles of tokens, and the first tile would look at the cells of all sequences for each prompt
    /// token in it, which costs more than a second pass over the weights.
    fn gather_batch(&mut self) -> Vec<BatchEntry> {
        for reads in [!self.read_last, self.read_last] {
            let batch = if reads { self.gather_prompts() } else { self.gather_answers() };
            if !batch.is_empty() {
                self.read_last = reads;
                return batch;
            }
        }
        Vec::new()
    }

    /// One token of each sequence, or of as many as fill tiles of the weights: then the others are first in the next such step.
    fn gather_answers(&mut self) -> Vec<BatchEntry> {
        let ready = self.running.iter().filter(|running| !running.begun.answer.lacks_mask());
        let entry = |running: &Running| {
            let (sequence, position) = (running.sequence, self.cache.computed(running.sequence));
            running.drawn.map(|token| BatchEntry { token, position, sequence, wants_logits: true })
        };
        let mut batch: Vec<BatchEntry> = ready.filter_map(entry).collect();
        let first = self.next_answer % batch.len().max(1);
        batch.rotate_left(first);
        batch.truncate(self.full_tiles(batch.len()));
        self.next_answer = first + batch.len();
        batch
    }

    /// The most tokens, up to `tokens`, that need no pass over the weights for a partial tile.
    pub(super) fn full_tiles(&self, tokens: usize) -> usize {
        let tile = self.capacity.tile_tokens;
        if tokens < tile { tokens } else { tokens / tile * tile }
    }

    /// Without the last token of a prompt whose answer lacks its mask.
    fn gather_prompts(&self) -> Vec<BatchEntry> {
        let mut batch = Vec::with_capacity(STEP_TOKENS_MAX);
        for running in self.running.iter().filter(|running| running.drawn.is_none()) {
            let computed = self.cache.computed(running.sequence);
            let readable = running.begun.tokens.len() - usize::from(running.begun.answer.lacks_mask());
            let end = readable.min(computed + STEP_TOKENS_MAX - batch.len());
            batch.extend(prompt_entries(running, computed..end));
        }
        batch
    }

    /// Draws the next token of a sequence; returns how its answer ended, if it did.
    fn draw(&mut self, index: usize, sequence: usize) -> Option<Finish> {
        let place = self.place_of(sequence)?;
        let running = &mut self.running[place];
        let Begun { choice, tokens, answer } = &mut running.begun;
        if *choice == 0 && answer.is_empty() {
            self.metrics.count_prompt(tokens.len());
        }
        let (token, finish) = answer.grow(self.cache.logits(index), self.vocabulary.as_ref());
        self.metrics.count_generated();
        running.drawn = Some(token);
        finish
    }

    pub(super) fn place_of(&self, sequence: usize) -> Option<usize> {
        self.running.iter().position(|running| running.sequence == sequence)
    }

    pub(super) fn end(&mut self, sequence: usize, finish: Finish) {
        let Some(place) = self.place_of(sequence) else { return };
        let running = self.running.remove(place);
        self.cache.finish(sequence);
        let Begun { choice, answer, .. } = running.begun;
        if self.requests.end_choice(running.request, choice, answer.finish(finish)) {
            self.metrics.count_ended(match finish {
                Finish::Stop => Ended::Stop,
                Finish::Length => Ended::Length,
            });
        }
    }

    /// Ends a request with an answer whose form is too complex.
    pub(super) fn fail_form(&mut self, sequence: usize, unkept: Unkept) {
        let Some(place) = self.place_of(sequence) else { return };
        let request = self.running[place].request;
        if self.requests.fail(request, &Failure::Form(unkept)) {
            self.metrics.count_ended(Ended::Error);
        }
        self.leave(request);
    }

    /// Fails every request of a failed batch, and forgets its sequences.
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
    let (sequence, last) = (running.sequence, running.begun.tokens.len() - 1);
    let tokens = running.begun.tokens[positions.clone()].iter();
    tokens.zip(positions).map(move |(&token, position)| BatchEntry {
        token,
        position,
        sequence,
        wants_logits: position == last,
    })
}
