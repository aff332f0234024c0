//! How many requests a replica is sent concurrently: a limit that rises while all of it is used and falls when the engine has more than it
//! can work on (additive increase, multiplicative decrease: D.-M. Chiu, R. Jain: "Analysis of the increase and decrease algorithms for
//! congestion avoidance in computer networks", 1989).
//!
//! The evidence is the engine's own metrics: waiting requests, cache usage and preemptions. An engine without metrics is judged by the work
//! it completes: the limit is raised now and then, and stays if that brought more work. Latency is no evidence, because an engine that
//! batches answers each request later and all of them sooner.
//!
//! Engines update their metrics after each step, and a step may take many seconds. So a load counts only if the engine has worked since the
//! last one, the limit rises only once the engine has seen what it was sent, and it falls again only once in-flight requests are no more
//! than the last fall left.

use super::messages::EngineLoad;

/// Waiting requests that keep an engine busy while the next ones are on their way.
const WAITING_WANTED: usize = 1;
/// More waiting requests belong in our queue.
const WAITING_MAX: i64 = 2;
/// A fuller cache has no room for more requests.
const CACHE_FULL_PERMILLE: i64 = 950;
/// Loads after a preemption before the limit grows again.
const REST_LOADS: u32 = 10;
/// A replica whose last load is older is judged by the work it completes.
const LOAD_VALID_MS: i64 = 10_000;
/// Minimum length of a trial of a limit. It also needs two completions for each slot, after one for each that began before it.
const TRIAL_MS: i64 = 5_000;
/// A higher limit stays if it brings this much work, in permille of before.
const GAIN_PERMILLE: i64 = 1_050;
/// Pause after a trial without a gain; doubled by each that follows.
const PAUSE_MS: i64 = 60_000;
const PAUSE_MAX_MS: i64 = 960_000;

#[derive(Debug)]
pub(super) struct ConcurrencyLimit {
    current: usize,
    most: usize,
    /// It began at the maximum, which somebody has set.
    is_set: bool,
    /// It was never too high, so it grows fast.
    is_new: bool,
    /// The whole limit was used since the last look.
    is_used_up: bool,
    load: Option<EngineLoad>,
    /// Since `load`.
    completed: usize,
    completed_since_rise: usize,
    rest: u32,
    told_at: Option<i64>,
    trial: Trial,
}

#[derive(Debug, Default)]
struct Trial {
    since: Option<i64>,
    completed: usize,
    /// Completions still expected of requests sent under the previous limit.
    settling: usize,
    work: i64,
    /// Work a second at the previous limit, and that limit; `None` while no limit is tried.
    before: Option<(i64, usize)>,
    pause_ms: i64,
    pause_until: i64,
}

impl ConcurrencyLimit {
    /// Begins at `first` and stays within 1 and `most`.
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

    pub(super) const fn current(&self) -> usize {
        self.current
    }

    pub(super) fn set_most(&mut self, most: u32) {
        self.most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
        self.current = self.current.min(self.most);
    }

    pub(super) const fn note_in_flight(&mut self, count: usize) {
        self.is_used_up |= count >= self.current;
    }

    pub(super) fn note_load(&mut self, load: EngineLoad, in_flight: usize, now: i64) {
        self.trial = Trial::default();
        let is_recent = self.told_at.replace(now).is_some_and(|at| (0..LOAD_VALID_MS).contains(&(now - at)));
        let before = self.load.replace(load);
        if std::mem::take(&mut self.completed) == 0 && before == Some(load) {
            return;
        }
        let was_preempted = before.is_some_and(|before| load.preemptions > before.preemptions);
        self.rest = if was_preempted { REST_LOADS } else { self.rest.saturating_sub(1) };
        // One long prompt briefly makes others wait: that is no evidence.
        let waited = before.filter(|_| is_recent).map_or(0, |before| before.waiting);
        let (running, waiting) = (count(load.running), count(load.waiting));
        if load.waiting.min(waited) > WAITING_MAX || was_preempted {
            if in_flight <= self.current {
                // The engine has room for what it runs.
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

    /// The engine refused a request for lack of room. A limit that was set stays: the refusal may be about a rate limit.
    pub(super) fn note_refusal(&mut self) {
        if self.is_set {
            return;
        }
        self.current = (self.current * 7 / 8).max(1);
        self.is_new = false;
    }

    /// A request of this much work completed; tries another limit if the engine reports no load.
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
