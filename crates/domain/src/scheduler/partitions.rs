//! What is known of one partition: its segments, hints of how much waits, what it is owed, and when to scan again.
//!
//! Counts are hints. A whole revolution that saw no request corrects them to zero. Conversely, a partition that seems empty is still
//! scanned: every 10 s while any of its requests is held or waits for its retry, else 10, 20, 40 … s after it went quiet, and then it is
//! forgotten. So no wrong count stalls a request, such as after a retry time that the counts of a restart do not contain, or a write that
//! was slower than the next scan.

use std::collections::BTreeMap;

use super::deadlines::{DeadlineStep, Work, endangered};
use super::due_first::Seen;
use super::lists::Lists;
use super::messages::{Candidate, ScanKey};
use super::portions::{PORTION_MS, Portion};
use super::refusals::Refusals;
use super::segments::{Range, Taker, Turn};
use super::throughput::Throughput;

/// First interval of scans of a partition that seems empty.
pub(super) const RECHECK_MS: i64 = 10_000;
/// A quiet partition is forgotten when its interval would pass this.
const FORGET_MS: i64 = 20 * 60_000;
/// A partition is active for this long after it had work.
const ACTIVE_MS: i64 = 60_000;
/// Retry times are counted in steps of this, and of a long wait in this many steps, so that a partition's memory is bounded.
const RETRY_STEP_MS: i64 = 64;
const RETRY_STEPS: i64 = 64;
/// Minimum interval of counts of a partition's deadlines.
const COUNT_MS: i64 = 30_000;
/// A partition that is worked off within this time is counted less often: engines may close before.
const SHORT_MS: i64 = 60_000;
const COUNT_SHORT_MS: i64 = 600_000;
/// Minimum time until a scan for a request whose lease was released, so that the write precedes it.
const WRITE_MS: i64 = 50;

/// A few hundred bytes and its window.
#[derive(Debug, Default)]
pub(super) struct PartitionState {
    pub(super) lists: Lists,
    /// Waiting requests that a scan can see by now.
    count: i64,
    /// Waiting requests by retry time.
    delayed: BTreeMap<i64, i64>,
    /// Requests being leased or leased.
    pub(super) held: usize,
    /// What it may still take in this round, in cost.
    pub(super) deficit: i64,
    /// What it also owes for slot time (`slot_time`), in cost.
    pub(super) owed_time: i64,
    /// The round of its deficit.
    round: u64,
    /// The last round in which it held as many requests as it may.
    pub(super) held_back_in: Option<u64>,
    pub(super) in_ring: bool,
    pub(super) throughput: Throughput,
    pub(super) refusals: Refusals,
    counted_at: i64,
    /// Mean cost of a request, as of the last count.
    mean_cost: Option<i64>,
    /// As of the last count.
    first_in_danger: Option<i64>,
    /// It seems empty and is scanned once more.
    suspected: bool,
    recheck_at: i64,
    recheck_ms: i64,
    /// Until then requests may wait for a retry that is not in `delayed`.
    watched_until: i64,
    /// When requests last arrived, left or returned.
    active_at: i64,
}

impl PartitionState {
    pub(super) fn new(is_shared: bool, now: i64) -> Self {
        Self {
            lists: Lists::new(is_shared),
            recheck_at: now + RECHECK_MS,
            recheck_ms: RECHECK_MS,
            active_at: now,
            counted_at: now,
            ..Self::default()
        }
    }

    /// It takes part in a round: it gets a quantum for each that began since it last did, and saves at most one.
    pub(super) fn begin_round(&mut self, round: u64, quantum: i64) {
        let rounds = round.saturating_sub(std::mem::replace(&mut self.round, round));
        if rounds > 0 {
            let sum = i64::try_from(rounds).unwrap_or(i64::MAX).saturating_mul(quantum);
            let deficit = self.deficit.saturating_add(sum);
            let paid = deficit.clamp(0, self.owed_time);
            self.owed_time -= paid;
            self.deficit = (deficit - paid).min(quantum);
        }
    }

    pub(super) const fn left(&self) -> i64 {
        self.deficit.saturating_sub(self.owed_time)
    }

    /// Whether a scan may find something.
    pub(super) fn is_visible(&self) -> bool {
        self.count > 0
            || self.lists.all.window_len() > 0
            || self.lists.due_first().is_some()
            || self.suspected
    }

    pub(super) fn is_active(&self, now: i64) -> bool {
        self.held > 0 || self.is_visible() || now - self.active_at < ACTIVE_MS
    }

    /// Whether or not they may be tried yet.
    pub(super) fn waiting(&self) -> i64 {
        self.delayed.values().fold(self.count, |sum, count| sum.saturating_add(*count))
    }

    /// Waiting requests that a scan can see, as far as known.
    pub(super) const fn visible_count(&self) -> i64 {
        self.count
    }

    /// Known waiting requests that may be tried by now.
    pub(super) fn known(&self) -> usize {
        usize::try_from(self.count).unwrap_or(0)
    }

    /// Whether to count its deadlines: the last count is old, and the waiting work is long or waits for long, or the last count is very
    /// old. If nodes share the queue, the number of waiting requests is not known here. `mean_cost` is that of the model's requests, and
    /// `is_served` says whether replicas serve the model.
    pub(super) fn may_be_late(&self, mean_cost: i64, is_shared: bool, is_served: bool, now: i64) -> bool {
        let age_ms = now - self.counted_at;
        let is_empty = self.waiting() == 0 && (is_served || !self.suspected);
        if is_empty || (0..COUNT_MS).contains(&age_ms) {
            return false;
        }
        let cost = self.mean_cost.unwrap_or(mean_cost).saturating_mul(self.waiting());
        let is_long = || self.throughput.ms_for(cost).is_none_or(|ms| ms > SHORT_MS);
        is_shared || !is_served || self.is_endangered() || !(0..COUNT_SHORT_MS).contains(&age_ms) || is_long()
    }

    pub(super) const fn counted_at(&self) -> i64 {
        self.counted_at
    }

    /// Its deadlines were counted: if some are in danger, the requests due by then go first. `segments` is the number of replicas of all
    /// nodes that sweep it; this node measures only its own. If the model is not served, no scan finds its requests, and the count gives
    /// their number.
    pub(super) fn note_deadlines(
        &mut self,
        steps: &[DeadlineStep],
        segments: usize,
        guard_ms: i64,
        is_served: bool,
        now: i64,
    ) {
        self.counted_at = now;
        let part = i64::try_from((segments / self.lists.all.len().max(1)).max(1)).unwrap_or(i64::MAX);
        let all = Work::of(steps, i64::MAX);
        let held = i64::try_from(self.held).unwrap_or(i64::MAX);
        let mean_cost = all.cost / all.count.max(1);
        self.mean_cost = Some(mean_cost).filter(|_| all.count > 0);
        if !is_served && !self.lists.all.is_asked() {
            (self.count, self.suspected) = (all.count, false);
        }
        let under_way = mean_cost.saturating_mul(held);
        let ms_for = |cost| self.throughput.ms_for(cost).map(|ms| ms / part);
        let danger = endangered(steps, under_way, ms_for, guard_ms, now);
        self.first_in_danger = danger.map(|it| it.first);
        match danger.map(|it| it.last) {
            Some(by) => self.lists.put_first(by, Work::of(steps, by).count, all.count),
            None => self.lists.put_none_first(),
        }
    }

    /// Whether some of its deadlines are in danger: until all requests that go first are done, and counted.
    pub(super) const fn is_endangered(&self) -> bool {
        self.first_in_danger.is_some()
    }

    pub(super) const fn first_in_danger(&self) -> Option<i64> {
        self.first_in_danger
    }

    /// The taker's turn, and an additional scan; see [`Lists::turn`].
    pub(super) fn turn(&mut self, taker: Taker<'_>, beside: &mut Option<Range>, now: i64) -> Turn {
        self.lists.turn(taker, self.count, beside, now)
    }

    /// The run is held from now on.
    pub(super) fn take(&mut self, taker: Taker<'_>, limit: usize, now: i64) -> Vec<Candidate> {
        let run = self.lists.take(taker, limit, now);
        self.remove(run.len(), now);
        self.held += run.len();
        run
    }

    pub(super) fn take_suspects(&mut self, now: i64) -> Vec<Candidate> {
        let suspects = self.lists.take_suspects();
        self.remove(suspects.len(), now);
        suspects
    }

    /// Begins a scan if the taker's window is shorter than the next run and more requests are known to wait.
    pub(super) fn scan_ahead(&mut self, taker: Taker<'_>, wanted: usize, now: i64) -> Option<Range> {
        self.lists.scan_ahead(taker, wanted, self.count, now)
    }

    /// A scan was answered, see [`Lists::absorb`].
    pub(super) fn absorb(&mut self, scan: ScanKey, fresh: Vec<Candidate>, seen: &Seen, now: i64) {
        if let Some(is_empty) = self.lists.absorb(scan, fresh, seen, now) {
            self.correct(is_empty, now);
        }
    }

    /// Requests entered the queue, or returned and may be tried by now.
    pub(super) fn add(&mut self, count: i64, now: i64) {
        self.count = self.count.saturating_add(count.max(0));
        self.lists.all.add(count.max(0));
        self.stay_awake(now);
    }

    /// A poll of the store saw waiting requests.
    pub(super) fn hear(&mut self, now: i64) {
        if !self.is_visible() {
            self.add(1, now);
        }
    }

    pub(super) fn remove(&mut self, count: usize, now: i64) {
        self.count = self.count.saturating_sub(i64::try_from(count).unwrap_or(i64::MAX)).max(0);
        self.stay_awake(now);
    }

    /// A lease was released until `retry_at`. Returns when to wake up for the partition.
    pub(super) fn delay(&mut self, retry_at: i64, now: i64) -> i64 {
        let earliest = retry_at.max(now + WRITE_MS);
        let step_ms = RETRY_STEP_MS.max((earliest - now) / RETRY_STEPS);
        let at = earliest.saturating_add(step_ms - earliest.rem_euclid(step_ms));
        *self.delayed.entry(at).or_default() += 1;
        self.stay_awake(now);
        self.wake_at(now).unwrap_or(at)
    }

    /// When the first retry time is reached, or its account is no longer held back.
    pub(super) fn wake_at(&self, now: i64) -> Option<i64> {
        let first = self.delayed.first_key_value().map(|(first, _)| *first);
        [first, self.refusals.until(now)].into_iter().flatten().min()
    }

    /// Requests may wait for a retry until then: it is scanned now and then, and not forgotten.
    pub(super) fn watch_until(&mut self, until: i64) {
        self.watched_until = self.watched_until.max(until);
    }

    /// Makes requests visible whose retry time is reached. Returns when to wake up for the partition again.
    pub(super) fn mature(&mut self, now: i64) -> Option<i64> {
        while let Some(entry) = self.delayed.first_entry().filter(|entry| *entry.key() <= now) {
            let count = entry.remove();
            self.add(count, now);
        }
        self.wake_at(now)
    }

    /// A scan was answered: the count is at least what it saw, or zero if a whole revolution saw no requests.
    pub(super) fn correct(&mut self, is_empty: bool, now: i64) {
        let seen = i64::try_from(self.lists.all.window_len()).unwrap_or(i64::MAX);
        let seen = seen.saturating_add(i64::from(self.lists.all.may_go_on()));
        self.suspected &= !is_empty && seen == 0;
        self.count = if is_empty { seen } else { self.count.max(seen) };
        if is_empty {
            self.recheck_at = now + self.recheck_ms;
        }
    }

    /// The waiting requests were counted anew: replaces everything known of the queue.
    pub(super) fn recount(&mut self, now: i64) {
        self.lists.reset();
        self.count = 0;
        self.suspected = false;
        self.delayed.clear();
        self.stay_awake(now);
    }

    /// Once a second: scans again if the partition only seems empty. Returns true if it can be forgotten.
    pub(super) fn repair(&mut self, now: i64) -> bool {
        let replicas = i64::try_from(self.lists.all.len()).unwrap_or(i64::MAX).max(1);
        if let Some(count) = self.throughput.completions_in(PORTION_MS) {
            self.lists.all.portion = Portion::new(count / replicas);
        }
        self.lists.repair(now);
        self.first_in_danger = self.first_in_danger.filter(|_| self.held > 0 || self.waiting() > 0);
        if self.is_visible() || self.lists.all.is_asked() || now < self.recheck_at {
            return false;
        }
        let is_busy = self.held > 0 || !self.delayed.is_empty() || now < self.watched_until;
        self.recheck_ms = if is_busy { RECHECK_MS } else { self.recheck_ms.saturating_mul(2) };
        self.recheck_at = now + self.recheck_ms;
        self.suspected = self.recheck_ms < FORGET_MS;
        !self.suspected && !self.in_ring
    }

    fn stay_awake(&mut self, now: i64) {
        self.recheck_ms = RECHECK_MS;
        self.recheck_at = now + RECHECK_MS;
        self.active_at = now;
    }
}
