//! The sweep of one segment of a partition: a cursor moves through its order and wraps at the end, so that every request is
//! passed once per revolution. A window of what the last scans saw lies in front of the cursor.
//!
//! Where nodes share a sweep, its cursor is the store's: a scan moves it on and brings the next run, which nobody
//! else sees before the sweep has come round. So a window is kept until it is leased, and where it begins is not ours
//! to say.

use std::collections::VecDeque;

use super::messages::{Candidate, Position, ScanKey};

/// What a scan saw is trusted this long; a lease is guarded all the same.
const WINDOW_MS: i64 = 30_000;
/// Where nodes share the queue, a sweep that found nothing looks again after this long, unless requests have come here.
const QUIET_MS: i64 = 1_000;
/// A scan that was never answered is asked again after this long.
pub(super) const PATIENCE_MS: i64 = 15_000;

/// A segment's cursor and window.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    is_shared: bool,
    window: VecDeque<Candidate>,
    window_at: i64,
    /// The last request that left the window.
    cursor: Option<Position>,
    /// The last request that a scan saw: the next scan begins behind it.
    scanned: Option<Position>,
    /// Nothing lies behind `scanned`.
    ended: bool,
    /// This revolution began at the start of the order and saw a request that was not known to be held.
    fruitful: Option<bool>,
    /// Requests have come since this revolution began, perhaps at a place that it had passed.
    is_outdated: bool,
    /// The scan that is awaited, and since when.
    asked: Option<(ScanKey, i64)>,
    /// It found nothing, so it does not look again until then.
    quiet_until: i64,
}

impl Sweep {
    pub(super) fn new(is_shared: bool) -> Self {
        Self { is_shared, ..Self::default() }
    }

    pub(super) fn window_len(&self) -> usize {
        self.window.len()
    }

    /// The requests in the window, in order.
    pub(super) fn window(&self) -> impl Iterator<Item = &Candidate> {
        self.window.iter()
    }

    /// The requests in the window.
    pub(super) fn window_seqs(&self) -> impl Iterator<Item = i64> {
        self.window.iter().map(|it| it.position.seq)
    }

    /// Whether a scan's answer is awaited.
    pub(super) const fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Whether this scan's answer is awaited.
    pub(super) fn awaits(&self, scan: ScanKey) -> bool {
        self.asked.is_some_and(|(asked, _)| asked == scan)
    }

    /// The last request that left the window.
    pub(super) const fn cursor(&self) -> Option<&Position> {
        self.cursor.as_ref()
    }

    /// Begins a scan, if none is awaited and one can bring more: the place behind which it begins, which for a new revolution
    /// is `from`.
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

    /// A scan's answer: `fresh` are the candidates that were not known to be held, `last` is the last of all. True
    /// where a whole revolution saw nothing to do, so the segment was empty when it began.
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
            // The length of a run says nothing: the store goes on elsewhere once this replica's segment has nothing left.
            self.ended = self.window.len() == before;
            self.quiet_until = if self.ended && !self.is_outdated { now + QUIET_MS } else { 0 };
            return self.ended;
        }
        // An answer without candidates can only be the end, whatever it says.
        self.ended = reached_end || last.is_none();
        self.scanned = last.or_else(|| self.scanned.take());
        self.ended && self.fruitful == Some(false)
    }

    /// Something to do was seen, in the window or set aside.
    pub(super) fn find(&mut self) {
        self.fruitful = self.fruitful.map(|_| true);
    }

    /// Requests have come.
    pub(super) const fn wake(&mut self) {
        self.quiet_until = 0;
        self.is_outdated = true;
    }

    /// Whether requests have come since this revolution began, so that it does not tell whether any wait.
    pub(super) const fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    /// Nothing waits: what the window shows has gone.
    pub(super) fn forget(&mut self) {
        self.window.clear();
        self.ended = true;
    }

    /// The scan was not made, or its answer is long overdue.
    pub(super) fn undo(&mut self) {
        self.asked = None;
    }

    /// Whether the store may hold more than the last scan saw, though nothing counts it here.
    pub(super) const fn may_go_on(&self) -> bool {
        self.is_shared && !self.ended
    }

    /// Takes the next run, at most `limit` requests; those whose deadline has passed are left to the expirer.
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

    /// The segment ends here now: what lies behind belongs to another.
    pub(super) fn end_at(&mut self, until: &Position) {
        self.window.retain(|it| it.position <= *until);
        self.scanned = self.scanned.take().map(|scanned| scanned.min(until.clone()));
        self.asked = None;
    }

    /// The segment begins behind this place now: what lies before belongs to another.
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

    /// Takes the suspects out of the window.
    pub(super) fn take_suspects(&mut self) -> VecDeque<Candidate> {
        let (suspects, window) = std::mem::take(&mut self.window).into_iter().partition(|it| it.suspect);
        self.window = window;
        suspects
    }

    /// Puts back what was taken and could not be leased.
    pub(super) fn put_back(&mut self, run: Vec<Candidate>) {
        for candidate in run.into_iter().rev() {
            self.window.push_front(candidate);
        }
    }

    /// Keeps the first `keep` of the window; what is dropped will be scanned again.
    pub(super) fn trim(&mut self, keep: usize) {
        if self.window.len() <= keep {
            return;
        }
        self.window.truncate(keep);
        self.scanned = self.window.back().map(|it| it.position.clone()).or_else(|| self.cursor.clone());
        self.ended = false;
    }

    /// Drops what was seen too long ago, and gives up on a scan whose answer is long overdue.
    pub(super) fn repair(&mut self, now: i64) {
        if now - self.window_at >= WINDOW_MS && !self.is_shared {
            self.trim(0);
        }
        if self.asked.is_some_and(|(_, asked_at)| now - asked_at >= PATIENCE_MS) {
            self.undo();
        }
    }
}
