//! Continuous batching: which sequences run, and the contents of each step.
//!
//! Requests wait in order of arrival, and take turns if they have several choices. Each choice becomes a sequence; it starts when the cache
//! certainly has room for its prompt and its longest answer, so that none is preempted for room; [`masks`] says when one is for its form. Before
//! a step, cancelled requests leave and waiting ones join. A request that shares a longer prefix with a running prompt of its salt than the cache holds yet
//! waits for it, and lets others pass: so a shared prefix is computed once, however many arrive together. Nor does a request join while it would slow the
//! running ones by more than it saves them.

mod answer;
mod job;
mod masks;
mod queue;
mod step;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

pub use self::job::{Choice, Completion, Failure, Finish, Generation, Job};
use self::{
    masks::Debts,
    queue::{Begun, Requests},
};
use crate::{
    cache::{Cache, Prefix, Salted},
    metrics::{Ended, Metrics},
    model::{Capacity, Decoder, Token, Vocabulary},
};

/// The assumed length of an answer that may be longer.
const ANSWER_TOKENS: usize = 256;

/// A request waits for another one's prompt only if that saves at least this many tokens.
const SHARED_TOKENS_MIN: usize = 16;

/// The sequences of one model. It belongs to one thread, which calls [`Scheduler::step`] as long as there is work.
pub struct Scheduler<D> {
    cache: Cache<D>,
    vocabulary: Arc<dyn Vocabulary>,
    metrics: Arc<Metrics>,
    capacity: Capacity,
    requests: Requests,
    running: Vec<Running>,
    debts: Debts,
    /// Whether the last step computed prompts.
    read_last: bool,
    /// The index, among the answering sequences, of the first one in the next step.
    next_answer: usize,
}

struct Running {
    request: u64,
    sequence: usize,
    /// Its tokens are those with which the sequence begins.
    begun: Begun,
    salt: Option<Arc<str>>,
    account: Arc<str>,
    /// Cells that the sequence will hold in the end.
    cells_max: usize,
    /// Cells that it alone holds, on average over its time.
    own_cells: usize,
    /// The token that was drawn and not fed yet.
    drawn: Option<Token>,
    /// The time of its last mask: zero without a form, `None` before the first mask.
    form_time: Option<Duration>,
    /// How often it had to wait for its mask in a row.
    sat_out: usize,
}

impl<D: Decoder> Scheduler<D> {
    /// All sequences of `decoder` must be empty.
    #[must_use]
    pub fn new(
        decoder: D,
        vocabulary: Arc<dyn Vocabulary>,
        capacity: Capacity,
        metrics: Arc<Metrics>,
    ) -> Self {
        metrics.set_cache_cells(if capacity.shares_prefixes { capacity.cells } else { 0 });
        let cache = Cache::new(decoder, capacity);
        Self {
            cache,
            vocabulary,
            metrics,
            capacity,
            requests: Requests::default(),
            running: Vec::new(),
            debts: Debts::default(),
            read_last: false,
            next_answer: 0,
        }
    }

    /// The request joins the next step that has room.
    pub fn submit(&mut self, job: Job) {
        self.requests.add(job);
        self.report();
    }

    /// Computes one step; returns false if there was nothing to do.
    pub fn step(&mut self) -> bool {
        self.leave_cancelled();
        self.join_waiting();
        let is_busy = !self.running.is_empty();
        if is_busy {
            self.find_masks();
            self.compute();
        }
        self.report();
        is_busy
    }

    fn leave_cancelled(&mut self) {
        for key in self.requests.take_cancelled() {
            self.metrics.count_ended(Ended::Abort);
            self.leave(key);
        }
    }

    /// Ends the sequences of a cancelled or failed request.
    fn leave(&mut self, request: u64) {
        let (leaving, staying) = self.running.drain(..).partition(|running| running.request == request);
        self.running = staying;
        let leaving: Vec<Running> = leaving;
        leaving.iter().for_each(|running| self.cache.finish(running.sequence));
    }

    /// Starts as many waiting sequences as there is room for.
    fn join_waiting(&mut self) {
        let mut place = 0;
        while self.running.len() < self.capacity.parallel {
            let Some((key, request)) = self.requests.waiting(place) else { return };
            if self.must_wait_for_form(request) {
                place += 1;
                continue;
            }
            if request.job.generation.repeats && self.is_alone(key) {
                // A prefix from the cache was computed in other steps and is in other cells: its last bits differ.
                self.cache.forget_kept();
            }
            let (tokens, salt) = (Arc::clone(request.tokens()), request.job.salt.clone());
            // The last token is computed in any case: its logits continue the answer.
            let shareable = Salted { salt: salt.as_deref(), tokens: &tokens[..tokens.len() - 1] };
            let prompt_length = request.job.prompt.len();
            let tokens_max = request.job.generation.tokens_max.min(self.capacity.context - prompt_length);
            let prefix = self.cache.find_prefix(shareable);
            let length = prefix.map_or(0, |prefix| prefix.length);
            if self.planned_prefix(shareable) >= length + SHARED_TOKENS_MIN {
                place += 1;
                continue;
            }
            let cells_max = prompt_length + tokens_max;
            let own_cells = tokens.len() - length + tokens_max.min(ANSWER_TOKENS) / 2;
            if !self.pays_to_join(own_cells) {
                return;
            }
            self.cache.note_prompt(Salted { tokens: &tokens, ..shareable }, prefix);
            let (account, is_fresh) = (Arc::clone(&request.job.account), !request.is_parked());
            let form_time = request.job.grammar.is_none().then_some(Duration::ZERO);
            let Some((sequence, cached)) = self.start(salt.clone(), prefix, cells_max) else { return };
            if is_fresh {
                self.metrics.count_prefix(tokens.len(), cached);
            }
            if let Some(begun) = self.requests.begin_choice(key, cached, tokens_max) {
                self.running.push(Running {
                    request: key,
                    sequence,
                    begun,
                    salt,
                    account,
                    cells_max,
                    own_cells,
                    drawn: None,
                    form_time,
                    sat_out: 0,
                });
            }
        }
    }

    /// Whether a request must start with no other beside it.
    fn is_alone(&self, request: u64) -> bool {
        let stays_alone = self.capacity.parallel == 1 || self.requests.is_single();
        stays_alone && self.running.is_empty() && self.requests.is_unbegun(request)
    }

    /// Whether one more sequence, with `cells` unshared cells, makes the tokens of all cheaper.
    ///
    /// With n sequences a token costs 1 / n of a pass over the weights, and a little for every cell of the others. One more saves
    /// `1 / n (n + 1)` of the pass and adds its cells. The average counts: a long sequence must run at some time, and does not wait until all
    /// others have ended. Tiles are filled once they are begun.
    fn pays_to_join(&self, cells: usize) -> bool {
        let own: usize = self.running.iter().map(|running| running.own_cells).sum();
        self.full_tiles(self.running.len()).saturating_mul(own + cells) <= self.capacity.masked_cells
    }

    /// A sequence with room for `cells`, and the number of its computed tokens; `None` if it must wait.
    fn start(
        &mut self,
        salt: Option<Arc<str>>,
        prefix: Option<Prefix>,
        cells: usize,
    ) -> Option<(usize, usize)> {
        let promised: usize = self
            .running
            .iter()
            .map(|running| running.cells_max - self.cache.computed(running.sequence))
            .sum();
        let length = prefix.map_or(0, |prefix| prefix.length);
        if self.cache.make_room(promised + cells - length, prefix.map(|prefix| prefix.sequence)) {
            return self.cache.start(salt, prefix).map(|sequence| (sequence, length));
        }
        let is_alone = self.running.is_empty();
        if is_alone && self.cache.make_room(cells, None) {
            return self.cache.start(salt, None).map(|sequence| (sequence, 0));
        }
        None
    }

    /// The longest prefix of `prompt` that running sequences have computed or will soon.
    fn planned_prefix(&self, prompt: Salted<'_>) -> usize {
        let planned = |running: &Running| {
            let planned = Salted { salt: running.salt.as_deref(), tokens: &running.begun.tokens };
            planned.shared_length(prompt)
        };
        let shares = self.capacity.shares_prefixes;
        self.running.iter().filter(|_| shares).map(planned).max().unwrap_or(0)
    }

    fn report(&self) {
        let (running, waiting) = self.requests.counts();
        self.metrics.set_load(running, waiting, self.cache.busy_share());
    }
}
