//! One step: put the batch together, compute it, draw tokens, end what has ended.

use std::{cmp::Reverse, ops::Range};

use super::{Failure, Finish, Running, Scheduler};
use crate::{
    clock::Stopwatch,
    constraint::Unkept,
    metrics::Ended,
    model::{BatchEntry, DecodeFailed, Decoder, STEP_TOKENS_MAX},
};

impl<D: Decoder> Scheduler<D> {
    /// Computes one step over the running sequences, of which there is at least one.
    pub(super) fn compute(&mut self) {
        let batch = self.gather_batch();
        let stopwatch = Stopwatch::start();
        if let Err(failure) = self.cache.decode(&batch) {
            return self.fail_batch(&batch, &failure);
        }
        let time = stopwatch.elapsed();
        let drawing = batch.iter().enumerate().filter(|(_, entry)| entry.wants_logits);
        let drawn: Vec<_> =
            drawing.map(|(index, entry)| (entry.sequence, self.draw(index, entry.sequence))).collect();
        let has_drawn = |running: &&Running| drawn.iter().any(|(sequence, _)| *sequence == running.sequence);
        let forms = self.running.iter().filter(has_drawn).map(|running| running.answer.form_time());
        self.masks.step(time, forms);
        for (sequence, drawn) in drawn {
            match drawn {
                Ok(Some(finish)) => self.end(sequence, finish),
                Ok(None) => {}
                Err(unkept) => self.fail_form(sequence, unkept),
            }
        }
    }

    /// Pieces of prompts, the oldest first, or one token of each sequence that answers: by turns where there are both.
    ///
    /// Not together: flash attention works in tiles of tokens, and the first tile would look at the cells of all sequences for
    /// each token of a prompt that stands in it, which costs more than a second pass over the weights.
    fn gather_batch(&mut self) -> Vec<BatchEntry> {
        let reads = !self.read_last;
        let mut kinds = [reads, !reads].into_iter().map(|reads| (reads, self.admit(reads)));
        let (reads, places) = kinds.find(|(_, places)| !places.is_empty()).unwrap_or_default();
        self.read_last = reads;
        if reads { self.gather_prompts(&places) } else { self.gather_answers(&places) }
    }

    /// The places of the running sequences that take part in a step of prompts or of answers. The cheapest of all does always.
    fn admit(&mut self, reads: bool) -> Vec<usize> {
        let cheapest =
            self.running.iter().map(|running| running.answer.form_time()).min().unwrap_or_default();
        let mut admission = self.masks.admission(cheapest);
        let mut places: Vec<usize> =
            (0..self.running.len()).filter(|&place| self.running[place].drawn.is_none() == reads).collect();
        places.sort_by_key(|&place| Reverse(self.running[place].sat_out));
        for &place in &places {
            let is_admitted = admission.admits(self.running[place].answer.form_time());
            let running = &mut self.running[place];
            running.sat_out = if is_admitted { 0 } else { running.sat_out + 1 };
        }
        places.retain(|&place| self.running[place].sat_out == 0);
        places.sort_unstable();
        places
    }

    /// One token of each sequence, or of as many as fill tiles of the weights: then the others begin the next such step.
    fn gather_answers(&mut self, places: &[usize]) -> Vec<BatchEntry> {
        let entry = |&place: &usize| {
            let running = &self.running[place];
            let (sequence, position) = (running.sequence, self.cache.computed(running.sequence));
            running.drawn.map(|token| BatchEntry { token, position, sequence, wants_logits: true })
        };
        let mut batch: Vec<BatchEntry> = places.iter().filter_map(entry).collect();
        let first = self.next_answer % batch.len().max(1);
        batch.rotate_left(first);
        batch.truncate(self.full_tiles(batch.len()));
        self.next_answer = first + batch.len();
        batch
    }

    /// The most tokens, up to `tokens`, that need no pass over the weights for a tile that is not full.
    pub(super) fn full_tiles(&self, tokens: usize) -> usize {
        let tile = self.capacity.tile_tokens;
        if tokens < tile { tokens } else { tokens / tile * tile }
    }

    fn gather_prompts(&self, places: &[usize]) -> Vec<BatchEntry> {
        let mut batch = Vec::with_capacity(STEP_TOKENS_MAX);
        for &place in places {
            let running = &self.running[place];
            let computed = self.cache.computed(running.sequence);
            let end = running.prompt.len().min(computed + STEP_TOKENS_MAX - batch.len());
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
