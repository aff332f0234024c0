//! The requests of a partition that go first because their deadlines are in danger: a list of their own, swept in the same order and by the
//! same rules as the main list.

use super::messages::{Candidate, Position, ReplicaKey, ScanKey};
use super::portions::SURVEY_MAX;
use super::segments::{Range, Segments, Taker, Turn};

/// Scans read far if fewer than one in this many requests goes first.
const SPARSE_PART: i64 = 4;
/// Keeps the scan keys of the lists apart.
const SCANS: u64 = 1 << 32;

#[derive(Debug)]
pub(super) struct Seen {
    pub(super) count: i64,
    pub(super) last: Option<Position>,
    pub(super) reached_end: bool,
}

#[derive(Debug)]
pub(super) struct DueFirst {
    /// The last deadline among them.
    pub(super) by: i64,
    pub(super) segments: Segments,
    /// How many of them wait, as far as known.
    pub(super) rest: i64,
    /// Requests that scans may pass without finding one.
    patience: i64,
    is_sparse: bool,
    /// The last scan found none.
    pub(super) is_barren: bool,
}

impl DueFirst {
    /// The `number`-th list of its partition, still empty.
    pub(super) fn new(number: u64, is_shared: bool) -> Self {
        let segments = Segments::new(is_shared).with_scans_after(ScanKey(number * SCANS));
        Self { by: i64::MIN, segments, rest: 0, patience: 0, is_sparse: false, is_barren: false }
    }

    /// From now on, the requests due by `by`: `due` of `all` that wait.
    pub(super) fn hold_to(&mut self, by: i64, due: i64, all: i64) {
        self.segments.add((due - self.rest).max(0));
        (self.by, self.rest, self.patience) = (by, due, all);
        self.is_sparse = due.saturating_mul(SPARSE_PART) < all;
    }

    /// If nodes share the queue, a scan takes what it reads from all others, so it never reads far.
    fn range(&self, range: Range) -> Range {
        let is_far = range.far.is_some() || self.is_sparse && !self.segments.is_shared();
        Range { far: is_far.then_some(SURVEY_MAX), ..range }
    }

    pub(super) fn turn(&mut self, taker: Taker<'_>, now: i64) -> Turn {
        let Taker { replica, wanted, idle_for_due_first, .. } = taker;
        match self.segments.turn(replica, wanted, self.rest, idle_for_due_first, now) {
            Turn::Wait(range) => Turn::Wait(range.map(|range| self.range(range))),
            turn => turn,
        }
    }

    pub(super) fn scan_ahead(&mut self, replica: ReplicaKey, wanted: usize, now: i64) -> Option<Range> {
        let kept = i64::try_from(self.segments.window_len()).unwrap_or(i64::MAX);
        let is_short = self.segments.window_of(replica).0 < wanted && kept < self.rest;
        let range = if is_short { self.segments.scan(replica, now) } else { None };
        range.map(|range| self.range(range))
    }

    /// A scan passed `seen` requests, of which `due` go first. Returns true if none is left to find.
    pub(super) fn absorb(&mut self, scan: ScanKey, due: Vec<Candidate>, seen: &Seen, now: i64) -> bool {
        self.is_barren = due.is_empty();
        if !self.is_barren {
            self.segments.absorb(scan, due.into_iter(), seen.last.clone(), seen.reached_end, now);
            return false;
        }
        self.patience -= seen.count;
        if self.segments.is_shared() && seen.last.is_some() {
            // The store continues behind them.
            self.segments.undo(scan);
            return self.patience <= 0;
        }
        self.segments.absorb(scan, due.into_iter(), seen.last.clone(), seen.reached_end, now)
    }
}
