//! How many requests a replica is sent at once: a limit that rises while all of it is used and falls when the engine has more
//! than it can work on (additive increase, multiplicative decrease: D.-M. Chiu, R. Jain: "Analysis of the increase and decrease
//! algorithms for congestion avoidance in computer networks", 1989).
//!
//! What tells is the engine's own metrics: requests that wait in it, how full its cache is, and preemptions. An engine without
//! them is judged by the work it completes: the limit is raised now and then, and stays where that brought more. Never by
//! latency, for an engine that batches answers each request later and all of them sooner.
//!
//! Engines count anew after each step, and a step may take many seconds. So what is told counts only where the engine has worked
//! since, the limit rises only once the engine has seen what it was sent, and it falls again only once in-flight requests are
//! no more than the last fall left.

use super::messages::EngineLoad;

/// Waiting requests that keep an engine busy while the next ones are on their way.
const WAITING_WANTED: usize = 1;
/// More than that are better kept in our queue.
const WAITING_MAX: i64 = 2;
/// A cache that is fuller leaves no room for more requests.
const CACHE_FULL_PERMILLE: i64 = 950;
/// Growth rests after a preemption until its load was told so many times.
const REST_LOADS: u32 = 10;
/// A replica whose load was not told for so long is judged by the work it completes.
const LOAD_VALID_MS: i64 = 10_000;
/// A trial of a limit takes at least so long, and two completions for each slot, after one for each that began before it.
const TRIAL_MS: i64 = 5_000;
/// A higher limit stays where it brings this much more work, in permille.
const GAIN_PERMILLE: i64 = 1_050;
/// Between two trials that brought nothing, at first; doubled by each that follows.
const PAUSE_MS: i64 = 60_000;
const PAUSE_MAX_MS: i64 = 960_000;

/// The limit of one replica.
#[derive(Debug)]
pub(super) struct ConcurrencyLimit {
    current: usize,
    most: usize,
    /// It began with the most: somebody knows how many.
    is_set: bool,
    /// It has never been too high, so it grows fast.
    is_new: bool,
    /// All of it was used since the last look.
    is_used_up: bool,
    /// As last told.
    load: Option<EngineLoad>,
    /// Completions since then.
    completed: usize,
    /// Completions since the limit rose.
    completed_since_rise: usize,
    rest: u32,
    told_at: Option<i64>,
    trial: Trial,
}

/// What was completed since `since`, and at which rate before.
#[derive(Debug, Default)]
struct Trial {
    since: Option<i64>,
    completed: usize,
    /// Completions still to come of what was sent under the limit before.
    settling: usize,
    work: i64,
    /// Work a second at the limit before, and that limit; `None` while nothing is tried.
    before: Option<(i64, usize)>,
    pause_ms: i64,
    pause_until: i64,
}

impl ConcurrencyLimit {
    /// A limit that begins at `first` and stays within 1 and `most`.
    pub(super) fn new(first: u32, most: u32) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
        let current = usize::try_from(first).unwrap_or(usize::MAX).clamp(1, most);
        Self {
            current,
            most,
            is_set: current == most,
            is_new: true,
            is_used_up: false,
            load: None,
            completed: 0,
            completed_since_rise: 0,
            rest: 0,
            told_at: None,
            trial: Trial::default(),
        }
    }

    /// Requests that may be in flight at once.
    pub(super) const fn current(&self) -> usize {
        self.current
    }

    /// The settings have changed.
    pub(super) fn set_most(&mut self, most: u32) {
        self.most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
        self.current = self.current.min(self.most);
    }

    /// So many requests are in flight now.
    pub(super) const fn note_in_flight(&mut self, count: usize) {
        self.is_used_up |= count >= self.current;
    }

    /// The engine says how loaded it is, while so many requests are in flight.
    pub(super) fn note_load(&mut self, load: EngineLoad, in_flight: usize, now: i64) {
        self.trial = Trial::default();
        let is_recent = self.told_at.replace(now).is_some_and(|at| (0..LOAD_VALID_MS).contains(&(now - at)));
        let before = self.load.replace(load);
        if std::mem::take(&mut self.completed) == 0 && before == Some(load) {
            return;
        }
        let was_preempted = before.is_some_and(|before| load.preemptions > before.preemptions);
        self.rest = if was_preempted { REST_LOADS } else { self.rest.saturating_sub(1) };
        // One long prompt makes others wait for a moment: that is no sign.
        let waited = before.filter(|_| is_recent).map_or(0, |before| before.waiting);
        let (running, waiting) = (count(load.running), count(load.waiting));
        if load.waiting.min(waited) > WAITING_MAX || was_preempted {
            if in_flight <= self.current {
                // What runs is what the engine has room for.
                let room = running + WAITING_WANTED;
                let lowered = if was_preempted { room.min(self.current * 7 / 8) } else { room };
                self.current = self.current.min(lowered.max(self.current / 2)).max(1);
            }
            self.is_new = false;
            self.completed_since_rise = 0;
        } else if self.is_used_up
            && self.rest == 0
            && load.waiting.max(waited) <= 1
            && load.cache_permille < CACHE_FULL_PERMILLE
            && (running + waiting >= self.current * 3 / 4 || self.completed_since_rise >= self.current)
        {
            let step = if self.is_new { self.current.div_ceil(2) } else { (self.current / 16).max(1) };
            self.current = (self.current + step).min(self.most);
            self.completed_since_rise = 0;
        }
        self.is_used_up = false;
    }

    /// The engine refused a request for want of room. A limit that somebody has set stays: that may be a limit of rate.
    pub(super) fn note_refusal(&mut self) {
        if self.is_set {
            return;
        }
        self.current = (self.current * 7 / 8).max(1);
        self.is_new = false;
    }

    /// A request of this much work was completed; tries another limit where no load is told.
    pub(super) fn note_completion(&mut self, work: i64, now: i64) {
        self.completed += 1;
        self.completed_since_rise += 1;
        if self.told_at.is_some_and(|at| (0..LOAD_VALID_MS).contains(&(now - at))) {
            return;
        }
        let trial = &mut self.trial;
        if trial.settling > 0 {
            trial.settling -= 1;
            trial.since = Some(now);
            return;
        }
        trial.completed += 1;
        trial.work = trial.work.saturating_add(work);
        let since = *trial.since.get_or_insert(now);
        let took_ms = now - since;
        if took_ms < TRIAL_MS || trial.completed < 2 * self.current {
            return;
        }
        let rate = trial.work.saturating_mul(1_000) / took_ms;
        (trial.since, trial.completed, trial.work) = (Some(now), 0, 0);
        if std::mem::take(&mut self.is_used_up) {
            self.judge(rate, now);
        }
    }

    /// All of the limit was used for a while, at this rate.
    fn judge(&mut self, rate: i64, now: i64) {
        let trial = &mut self.trial;
        match trial.before {
            Some((before, limit)) if rate < before.saturating_mul(GAIN_PERMILLE) / 1_000 => {
                self.current = limit;
                self.is_new = false;
                trial.pause_ms = (trial.pause_ms * 2).clamp(PAUSE_MS, PAUSE_MAX_MS);
                (trial.before, trial.pause_until) = (None, now + trial.pause_ms);
            }
            _ if now >= trial.pause_until && self.current < self.most => {
                trial.before = Some((rate, self.current));
                trial.settling = self.current;
                let step = self.current / if self.is_new { 2 } else { 4 };
                self.current = (self.current + step.max(1)).min(self.most);
            }
            _ => trial.before = None,
        }
    }
}

fn count(requests: i64) -> usize {
    usize::try_from(requests).unwrap_or(0)
}
