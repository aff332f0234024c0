//! One step: build the batch, compute it, draw tokens, end what is complete.

use std::{cmp::Reverse, ops::Range, time::Duration};

use super::{Failure, Finish, Running, Scheduler, masks::is_over_budget};
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
        let stopwatch = Stopwatch::start();
        if let Err(failure) = self.cache.decode(&batch) {
            return self.fail_batch(&batch, &failure);
        }
        let drawing = batch.iter().enumerate().filter(|(_, entry)| entry.wants_logits);
        let drawn: Vec<_> =
            drawing.map(|(index, entry)| (entry.sequence, self.draw(index, entry.sequence))).collect();
        let has_drawn = |running: &&Running| drawn.iter().any(|(sequence, _)| *sequence == running.sequence);
        let forms = self.running.iter().filter(has_drawn).map(|running| running.answer.form_time());
        let forms: Vec<Duration> = forms.collect();
        // A GPU computes until its results are read for drawing.
        let time = stopwatch.elapsed().saturating_sub(forms.iter().sum());
        self.masks.step(time, forms.into_iter());
        for (sequence, drawn) in drawn {
            let goes_on = matches!(drawn, Ok(None));
            let refused = if goes_on { self.charge_form(sequence, time).err() } else { None };
            match refused.map_or(drawn, Err) {
                Ok(Some(finish)) => self.end(sequence, finish),
                Ok(None) => {}
                Err(unkept) => self.fail_form(sequence, unkept),
            }
        }
    }

    /// Pieces of prompts, the oldest first, or one token of each answering sequence: alternately if there are both.
    ///
    /// Not together: flash attention works in tiles of tokens, and the first tile would look at the cells of all sequences for each prompt
    /// token in it, which costs more than a second pass over the weights.
    fn gather_batch(&mut self) -> Vec<BatchEntry> {
        let reads = !self.read_last;
        let mut kinds = [reads, !reads].into_iter().map(|reads| (reads, self.admit(reads)));
        let (reads, places) = kinds.find(|(_, places)| !places.is_empty()).unwrap_or_default();
        self.read_last = reads;
        if reads { self.gather_prompts(&places) } else { self.gather_answers(&places) }
    }

    /// The indices of the running sequences that take part in a step of prompts or of answers. The cheapest always does.
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

    /// One token of each sequence, or of as many as fill tiles of the weights: then the others are first in the next such step.
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

    /// The most tokens, up to `tokens`, that need no pass over the weights for a partial tile.
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

    /// Draws the next token of a sequence; returns how its answer ended, if it did.
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

    /// Charges a request for the last token of a sequence, which it drew in a step of `time`. Fails if its form is over its budget.
    fn charge_form(&mut self, sequence: usize, time: Duration) -> Result<(), Unkept> {
        let Some(running) = self.running.iter().find(|running| running.sequence == sequence) else {
            return Ok(());
        };
        let (forms, steps) = self.requests.add_times(running.request, running.answer.form_time(), time);
        if is_over_budget(forms, steps) { running.answer.refuse_form(forms) } else { Ok(()) }
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

    /// Ends a request with an answer whose form is too complex.
    fn fail_form(&mut self, sequence: usize, unkept: Unkept) {
        let Some(running) = self.running.iter().find(|running| running.sequence == sequence) else { return };
        let request = running.request;
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
    let (sequence, last) = (running.sequence, running.prompt.len() - 1);
    let tokens = running.prompt[positions.clone()].iter();
    tokens.zip(positions).map(move |(&token, position)| BatchEntry {
        token,
        position,
        sequence,
        wants_logits: position == last,
    })
}
