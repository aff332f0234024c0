//! What is known of one partition: its segments, hints of how much waits, what it is owed, and when to scan again.
//!
//! Counts are hints: a whole revolution that saw nothing corrects them to zero. The other way round, a partition that seems
//! empty is scanned all the same: every 10 s while any of its requests is held or waits for its retry, else 10, 20,
//! 40 … s after it went quiet, and then it is forgotten. So no wrong count stalls a request: a retry time that the
//! counts of a restart do not tell, a write that was slower than the scan behind it.

use std::collections::BTreeMap;

use super::messages::{Candidate, ReplicaKey};
use super::segments::{IdleSlots, Range, Segments, Turn};

/// The first interval of scans at a partition that seems empty.
pub(super) const RECHECK_MS: i64 = 10_000;
/// A quiet partition is forgotten when its interval would pass this: more than the longest retry time.
const FORGET_MS: i64 = 20 * 60_000;
/// A partition that had work counts among those that have for so long.
const ACTIVE_MS: i64 = 60_000;
/// Retry times are counted in steps of this, so that a partition's memory is bounded.
const RETRY_STEP_MS: i64 = 64;
/// A request whose lease was released is scanned for no sooner than this, so that the write comes first.
const WRITE_MS: i64 = 50;

/// A partition's state; a few hundred bytes and its window.
#[derive(Debug, Default)]
pub(super) struct PartitionState {
    pub(super) segments: Segments,
    /// Waiting requests that a scan can see by now.
    count: i64,
    /// Waiting requests by the time they may be tried again.
    delayed: BTreeMap<i64, i64>,
    /// Requests being leased or leased.
    pub(super) held: usize,
    /// What it may still take in this round of the deficit round robin, in cost.
    pub(super) deficit: i64,
    /// It stands in its model's ring.
    pub(super) in_ring: bool,
    /// It seems empty and is scanned once more.
    suspected: bool,
    recheck_at: i64,
    recheck_ms: i64,
    /// When requests last came, left or came back.
    active_at: i64,
}

impl PartitionState {
    pub(super) fn new(is_shared: bool, now: i64) -> Self {
        Self {
            segments: Segments::new(is_shared),
            recheck_at: now + RECHECK_MS,
            recheck_ms: RECHECK_MS,
            active_at: now,
            ..Self::default()
        }
    }

    /// Whether a scan may find something.
    pub(super) fn is_visible(&self) -> bool {
        self.count > 0 || self.segments.window_len() > 0 || self.suspected
    }

    /// Whether it has work, or had some a moment ago.
    pub(super) fn is_active(&self, now: i64) -> bool {
        self.held > 0 || self.is_visible() || now - self.active_at < ACTIVE_MS
    }

    /// Waiting requests, whether they may be tried yet or not.
    pub(super) fn waiting(&self) -> i64 {
        self.delayed.values().fold(self.count, |sum, count| sum.saturating_add(*count))
    }

    /// Waiting requests that a scan can see, as far as known.
    pub(super) const fn visible_count(&self) -> i64 {
        self.count
    }

    /// What the replica, which has room for `wanted`, finds here; see [`Segments::turn`].
    pub(super) fn turn(&mut self, replica: ReplicaKey, wanted: usize, idle: IdleSlots<'_>, now: i64) -> Turn {
        self.segments.turn(replica, wanted, self.count, idle, now)
    }

    /// Takes the next run of the replica's segment, at most `limit` requests; they are held from now on.
    pub(super) fn take(&mut self, replica: ReplicaKey, limit: usize, now: i64) -> Vec<Candidate> {
        let run = self.segments.take(replica, limit, now);
        self.remove(run.len(), now);
        self.held += run.len();
        run
    }

    /// Takes the suspects that were seen and not leased.
    pub(super) fn take_suspects(&mut self, now: i64) -> Vec<Candidate> {
        let suspects = self.segments.take_suspects();
        self.remove(suspects.len(), now);
        suspects
    }

    /// Begins a scan where the replica's window is shorter than the next run and more is known to wait.
    pub(super) fn scan_ahead(&mut self, replica: ReplicaKey, wanted: usize, now: i64) -> Option<Range> {
        let (len, _) = self.segments.window_of(replica);
        let kept = i64::try_from(self.segments.window_len()).unwrap_or(i64::MAX);
        if len < wanted && kept < self.count { self.segments.scan(replica, now) } else { None }
    }

    /// Requests entered the queue, or came back into it and may be tried by now.
    pub(super) fn add(&mut self, count: i64, now: i64) {
        self.count = self.count.saturating_add(count.max(0));
        self.segments.add(count.max(0));
        self.stay_awake(now);
    }

    /// Something of it waits, as a poll of the store saw.
    pub(super) fn hear(&mut self, now: i64) {
        if !self.is_visible() {
            self.add(1, now);
        }
    }

    /// Requests left the queue.
    pub(super) fn remove(&mut self, count: usize, now: i64) {
        self.count = self.count.saturating_sub(i64::try_from(count).unwrap_or(i64::MAX)).max(0);
        self.stay_awake(now);
    }

    /// A lease was released until `retry_at`; the time to wake up for it.
    pub(super) fn delay(&mut self, retry_at: i64, now: i64) -> i64 {
        let earliest = retry_at.max(now + WRITE_MS);
        let at = earliest.saturating_add(RETRY_STEP_MS - earliest.rem_euclid(RETRY_STEP_MS));
        *self.delayed.entry(at).or_default() += 1;
        self.stay_awake(now);
        self.delayed.first_key_value().map_or(at, |(first, _)| *first)
    }

    /// Requests whose retry time has come can be seen from now on; the time of the next ones.
    pub(super) fn mature(&mut self, now: i64) -> Option<i64> {
        while let Some(entry) = self.delayed.first_entry() {
            if *entry.key() > now {
                return Some(*entry.key());
            }
            let count = entry.remove();
            self.add(count, now);
        }
        None
    }

    /// A scan was answered: the count is at least what it saw, or zero where a whole revolution saw nothing.
    pub(super) fn correct(&mut self, is_empty: bool, now: i64) {
        let seen = i64::try_from(self.segments.window_len()).unwrap_or(i64::MAX);
        let seen = seen.saturating_add(i64::from(self.segments.may_go_on()));
        self.suspected &= !is_empty && seen == 0;
        self.count = if is_empty { seen } else { self.count.max(seen) };
        if is_empty {
            self.recheck_at = now + self.recheck_ms;
        }
    }

    /// What waits was counted anew: everything known of the queue is replaced.
    pub(super) fn recount(&mut self, now: i64) {
        self.segments.reset();
        self.count = 0;
        self.suspected = false;
        self.delayed.clear();
        self.stay_awake(now);
    }

    /// Once a second: scans again where the partition only seems empty. True where it can be forgotten.
    pub(super) fn repair(&mut self, now: i64) -> bool {
        self.segments.repair(now);
        if self.is_visible() || self.segments.is_asked() || now < self.recheck_at {
            return false;
        }
        let is_busy = self.held > 0 || !self.delayed.is_empty();
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
