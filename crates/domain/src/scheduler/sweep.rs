//! The sweep of one segment of a partition: a cursor moves through its order and wraps at the end, so that every request is passed once per
//! revolution. A window of what the last scans saw is in front of the cursor.
//!
//! If nodes share a sweep, its cursor is the store's: a scan moves it and returns the next run, which no other replica sees before the
//! sweep is back there. So a window is kept until it is leased, and its beginning is not decided here.

use std::collections::VecDeque;

use super::messages::{Candidate, Position, ScanKey};

/// How long a scan is trusted; a lease is guarded all the same.
const WINDOW_MS: i64 = 30_000;
/// If nodes share the queue, a sweep that found no requests looks again after this time, unless some have arrived here.
const QUIET_MS: i64 = 1_000;
/// A scan without an answer is repeated after this time.
pub(super) const PATIENCE_MS: i64 = 15_000;

#[derive(Debug, Default)]
pub(super) struct Sweep {
    is_shared: bool,
    window: VecDeque<Candidate>,
    window_at: i64,
    cursor: Option<Position>,
    /// The last request that a scan saw: the next scan begins behind it.
    scanned: Option<Position>,
    /// No requests are behind `scanned`.
    ended: bool,
    /// Whether this revolution saw a request that was not known to be held; `None` if it did not begin at the start of the order.
    fruitful: Option<bool>,
    /// Requests have arrived since this revolution began, perhaps at a place that it had passed.
    is_outdated: bool,
    /// The awaited scan, and since when.
    asked: Option<(ScanKey, i64)>,
    /// It found no requests, so it does not look again until then.
    quiet_until: i64,
}

impl Sweep {
    pub(super) fn new(is_shared: bool) -> Self {
        Self { is_shared, ..Self::default() }
    }

    pub(super) fn window_len(&self) -> usize {
        self.window.len()
    }

    pub(super) fn window(&self) -> impl Iterator<Item = &Candidate> {
        self.window.iter()
    }

    pub(super) fn window_seqs(&self) -> impl Iterator<Item = i64> {
        self.window.iter().map(|it| it.position.seq)
    }

    pub(super) const fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    pub(super) fn awaits(&self, scan: ScanKey) -> bool {
        self.asked.is_some_and(|(asked, _)| asked == scan)
    }

    pub(super) const fn cursor(&self) -> Option<&Position> {
        self.cursor.as_ref()
    }

    /// Begins a scan, if none is awaited and one can bring more. Returns the place behind which it begins: `from` for a new revolution.
    pub(super) fn ask(
        &mut self,
        scan: ScanKey,
        from: Option<&Position>,
        now: i64,
    ) -> Option<Option<Position>> {
        if self.is_asked() || now < self.quiet_until || self.ended && !self.window.is_empty() {
            return None;
        }
        if self.ended {
            self.ended = false;
            self.scanned = None;
        }
        if self.scanned.is_none() {
            self.fruitful = Some(false);
        }
        self.is_outdated &= self.scanned.is_some() && !self.is_shared;
        self.asked = Some((scan, now));
        Some(self.scanned.as_ref().or(from).cloned())
    }

    /// A scan was answered: `fresh` are the candidates that were not known to be held, `last` is the last of all. Returns true if a whole
    /// revolution saw no work, so the segment was empty when it began.
    pub(super) fn absorb(
        &mut self,
        fresh: impl Iterator<Item = Candidate>,
        last: Option<Position>,
        reached_end: bool,
        now: i64,
    ) -> bool {
        if self.asked.take().is_none() {
            return false;
        }
        self.window_at = now;
        let before = self.window.len();
        let scanned = &self.scanned;
        self.window.extend(fresh.filter(|it| scanned.as_ref().is_none_or(|scanned| it.position > *scanned)));
        if self.window.len() > before {
            self.find();
        }
        if self.is_shared {
            // The length of a run does not show the end: the store continues elsewhere once this replica's segment is empty.
            self.ended = self.window.len() == before;
            self.quiet_until = if self.ended && !self.is_outdated { now + QUIET_MS } else { 0 };
            return self.ended;
        }
        // An answer without candidates can only be the end, whatever it says.
        self.ended = reached_end || last.is_none();
        self.scanned = last.or_else(|| self.scanned.take());
        self.ended && self.fruitful == Some(false)
    }

    /// Work was seen, in the window or set aside.
    pub(super) fn find(&mut self) {
        self.fruitful = self.fruitful.map(|_| true);
    }

    pub(super) const fn wake(&mut self) {
        self.quiet_until = 0;
        self.is_outdated = true;
    }

    /// Whether requests have arrived since this revolution began, so that it does not show whether any wait.
    pub(super) const fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    /// No requests wait: those in the window are gone.
    pub(super) fn forget(&mut self) {
        self.window.clear();
        self.ended = true;
    }

    /// The scan was not made, or its answer is long overdue.
    pub(super) fn undo(&mut self) {
        self.asked = None;
    }

    /// Whether the store may hold more than the last scan saw, although they are not counted here.
    pub(super) const fn may_go_on(&self) -> bool {
        self.is_shared && !self.ended
    }

    /// Requests whose deadline has passed are left to the expirer.
    pub(super) fn take(&mut self, limit: usize, now: i64) -> Vec<Candidate> {
        let mut run = Vec::with_capacity(limit.min(self.window.len()));
        while run.len() < limit
            && let Some(candidate) = self.window.pop_front()
        {
            self.cursor = Some(candidate.position.clone());
            if candidate.deadline > now {
                run.push(candidate);
            }
        }
        run
    }

    /// The segment ends here now: another has the requests behind.
    pub(super) fn end_at(&mut self, until: &Position) {
        self.window.retain(|it| it.position <= *until);
        self.scanned = self.scanned.take().map(|scanned| scanned.min(until.clone()));
        self.asked = None;
    }

    /// The segment begins behind this place now: another has the requests before.
    pub(super) fn begin_behind(&mut self, from: &Position) {
        self.window.retain(|it| it.position > *from);
        self.scanned = self.scanned.take().filter(|scanned| scanned > from);
        self.asked = None;
    }

    /// The segment has grown at one of its ends: only a revolution that begins from now on sees all of it.
    pub(super) fn grow(&mut self) {
        self.ended = false;
        self.fruitful = None;
        self.asked = None;
    }

    pub(super) fn take_suspects(&mut self) -> VecDeque<Candidate> {
        let (suspects, window) = std::mem::take(&mut self.window).into_iter().partition(|it| it.suspect);
        self.window = window;
        suspects
    }

    pub(super) fn put_back(&mut self, run: Vec<Candidate>) {
        for candidate in run.into_iter().rev() {
            self.window.push_front(candidate);
        }
    }

    /// Keeps the first `keep` of the window; the others will be scanned again.
    pub(super) fn trim(&mut self, keep: usize) {
        if self.window.len() <= keep {
            return;
        }
        self.window.truncate(keep);
        self.scanned = self.window.back().map(|it| it.position.clone()).or_else(|| self.cursor.clone());
        self.ended = false;
    }

    /// Drops what was seen too long ago, and gives up a scan whose answer is long overdue.
    pub(super) fn repair(&mut self, now: i64) {
        if now - self.window_at >= WINDOW_MS && !self.is_shared {
            self.trim(0);
        }
        if self.asked.is_some_and(|(_, asked_at)| now - asked_at >= PATIENCE_MS) {
            self.undo();
        }
    }
}
