//! The lists of a partition: all waiting requests, and those that go first because their deadlines are in danger. A replica takes its runs
//! from the second if that has any for it, and otherwise continues where it was in the first.

use std::collections::BTreeSet;

use super::due_first::{DueFirst, Seen};
use super::messages::{Candidate, ReplicaKey, ScanKey};
use super::segments::{Range, Segments, Taker, Turn};

#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) all: Segments,
    due_first: Option<DueFirst>,
    begun: u64,
}

impl Lists {
    pub(super) fn new(is_shared: bool) -> Self {
        Self { all: Segments::new(is_shared), ..Self::default() }
    }

    /// From now on the requests due by `by` go first: `due` of `count`.
    pub(super) fn put_first(&mut self, by: i64, due: i64, count: i64) {
        if self.due_first.is_none() {
            self.begun += 1;
        }
        let (number, is_shared) = (self.begun, self.all.is_shared());
        self.due_first.get_or_insert_with(|| DueFirst::new(number, is_shared)).hold_to(by, due, count);
    }

    pub(super) fn put_none_first(&mut self) {
        self.due_first = None;
    }

    /// Requests that go first, as far as known; `None` if none must.
    pub(super) fn due_first(&self) -> Option<i64> {
        self.due_first.as_ref().map(|it| it.rest.max(0))
    }

    pub(super) fn reset(&mut self) {
        self.all.reset();
        self.due_first = None;
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Segments> {
        [&mut self.all].into_iter().chain(self.due_first.as_mut().map(|it| &mut it.segments))
    }

    /// Whether there is work here for the taker, see [`Segments::is_for`].
    pub(super) fn is_for(&self, taker: Taker<'_>) -> bool {
        let due_first = self.due_first.as_ref();
        due_first.is_some_and(|it| it.segments.is_for(taker.replica, taker.idle_for_due_first))
            || !taker.takes_due_first_only && self.all.is_for(taker.replica, taker.idle)
    }

    /// The taker's turn if `waiting` requests are known, see [`Segments::turn`]; and an additional scan.
    pub(super) fn turn(
        &mut self,
        taker: Taker<'_>,
        waiting: i64,
        beside: &mut Option<Range>,
        now: i64,
    ) -> Turn {
        if let Some(list) = &mut self.due_first {
            match list.turn(taker, now) {
                Turn::Ready => return Turn::Ready,
                // While scans find some, the next answer is worth waiting for.
                Turn::Wait(range) if taker.takes_due_first_only || !list.is_barren => {
                    return Turn::Wait(range);
                }
                Turn::Wait(range) => *beside = range,
                Turn::Nothing => {}
            }
        }
        if taker.takes_due_first_only {
            return Turn::Nothing;
        }
        self.all.turn(taker.replica, taker.wanted, waiting, taker.idle, now)
    }

    /// Requests in the window of the replica's next run, and whether a scan may lengthen it soon.
    pub(super) fn window_of(&self, replica: ReplicaKey) -> (usize, bool) {
        let due_first = self.due_first.as_ref().map(|it| it.segments.window_of(replica));
        due_first.filter(|(len, _)| *len > 0).unwrap_or_else(|| self.all.window_of(replica))
    }

    /// Candidates for the taker's next run, in order.
    pub(super) fn next(&self, taker: Taker<'_>, now: i64) -> impl Iterator<Item = &Candidate> {
        let is_alive = move |it: &&Candidate| it.deadline > now;
        let due_first = self.due_first.iter().flat_map(move |it| it.segments.window(taker.replica));
        let mut due_first = due_first.filter(is_alive).peekable();
        let goes_on = due_first.peek().is_none() && !taker.takes_due_first_only;
        let others = goes_on.then(|| self.all.window(taker.replica).filter(is_alive));
        due_first.chain(others.into_iter().flatten())
    }

    pub(super) fn take(&mut self, taker: Taker<'_>, limit: usize, now: i64) -> Vec<Candidate> {
        let mut run = Vec::new();
        if let Some(list) = &mut self.due_first {
            run = list.segments.take(taker.replica, limit, now);
            list.rest -= i64::try_from(run.len()).unwrap_or(i64::MAX);
            self.due_first.take_if(|list| list.rest <= 0);
        }
        if run.is_empty() && !taker.takes_due_first_only {
            run = self.all.take(taker.replica, limit, now);
        }
        run
    }

    /// Begins a scan if the taker's window is shorter than the next run and more requests are known to wait.
    pub(super) fn scan_ahead(
        &mut self,
        taker: Taker<'_>,
        wanted: usize,
        waiting: i64,
        now: i64,
    ) -> Option<Range> {
        let due_first = self.due_first.as_mut().and_then(|it| it.scan_ahead(taker.replica, wanted, now));
        if due_first.is_some() || taker.takes_due_first_only {
            return due_first;
        }
        let kept = i64::try_from(self.all.window_len()).unwrap_or(i64::MAX);
        let is_short = self.all.window_of(taker.replica).0 < wanted && kept < waiting;
        if is_short { self.all.scan(taker.replica, now) } else { None }
    }

    /// The list that a scan belongs to, and the last deadline that it looks for.
    pub(super) fn of_scan(&mut self, scan: ScanKey) -> (&mut Segments, i64) {
        match &mut self.due_first {
            Some(list) if list.segments.awaits(scan) => (&mut list.segments, list.by),
            _ => (&mut self.all, i64::MAX),
        }
    }

    /// A scan was answered, see [`Segments::absorb`]: `fresh` are the matching requests of `seen` that were not known to be held. Returns
    /// whether no requests wait; `None` if the scan does not show that.
    pub(super) fn absorb(
        &mut self,
        scan: ScanKey,
        fresh: Vec<Candidate>,
        seen: &Seen,
        now: i64,
    ) -> Option<bool> {
        if let Some(list) = self.due_first.as_mut().filter(|it| it.segments.awaits(scan)) {
            let is_over = list.absorb(scan, fresh, seen, now);
            self.due_first.take_if(|_| is_over);
            return None;
        }
        Some(self.all.absorb(scan, fresh.into_iter(), seen.last.clone(), seen.reached_end, now))
    }

    pub(super) fn put_back(&mut self, replica: ReplicaKey, run: Vec<Candidate>) {
        let by = self.due_first.as_ref().map_or(i64::MIN, |it| it.by);
        let (due, others): (Vec<_>, Vec<_>) = run.into_iter().partition(|it| it.deadline <= by);
        if let Some(list) = &mut self.due_first {
            list.rest += i64::try_from(due.len()).unwrap_or(i64::MAX);
            list.segments.put_back(replica, due);
        }
        self.all.put_back(replica, others);
    }

    pub(super) fn take_suspects(&mut self) -> Vec<Candidate> {
        let mut known = BTreeSet::new();
        let suspects = self.each().flat_map(Segments::take_suspects);
        suspects.filter(|it| known.insert(it.position.seq)).collect()
    }

    /// Keeps about the first `keep` of each list's windows.
    pub(super) fn trim(&mut self, keep: usize) {
        self.each().for_each(|it| it.trim(keep));
    }

    /// Once a second, see [`Segments::repair`].
    pub(super) fn repair(&mut self, now: i64) {
        self.each().for_each(|it| it.repair(now));
    }
}
