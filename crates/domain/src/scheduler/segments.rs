//! The order of one partition, cut into segments of which each replica sweeps its own, so that neighbours meet in one cache. A replica that
//! has no requests left takes half of the longest rest, cut where neighbours share least: affinity and work stealing in the space of keys
//! (V. Srivatsa et al.: "Preble: Efficient distributed prompt scheduling for LLM serving", 2024).
//!
//! Together the segments are the whole order, so a later request has its place in one of them. If nodes share the queue, the store has the
//! segments and assigns them by the same rules: then a segment here is no more than a replica's window.

use super::messages::{Candidate, Position, ReplicaKey, ScanKey};
use super::portions::Portion;
use super::sweep::{PATIENCE_MS, Sweep};
use super::weakest_link::weakest_link;

/// A stretch of the order, which begins behind the end of the previous one.
#[derive(Debug)]
struct Segment {
    /// If it cannot be used, the segment is for the replica that asks next.
    owner: ReplicaKey,
    /// Its last place; the end of the order if `None`.
    until: Option<Position>,
    sweep: Sweep,
    /// Waiting requests in it, as far as known.
    rest: i64,
}

/// A scan to find where to cut a segment.
#[derive(Debug)]
struct Survey {
    scan: ScanKey,
    taker: ReplicaKey,
    giver: ReplicaKey,
    asked_at: i64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) scan: ScanKey,
    pub(super) after: Option<Position>,
    pub(super) until: Option<Position>,
    /// Requests to read, instead of those of a run.
    pub(super) far: Option<u32>,
}

/// What a replica that asks for a run finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Its window has requests.
    Ready,
    /// A scan must be answered first: this one, or one that is under way.
    Wait(Option<Range>),
    /// Others are to take what is left.
    Nothing,
}

/// Idle slots of a replica; `None` if it cannot be used.
pub(super) type IdleSlots<'a> = &'a dyn Fn(ReplicaKey) -> Option<usize>;

/// Who asks for a run, and for how much.
#[derive(Clone, Copy)]
pub(super) struct Taker<'a> {
    pub(super) replica: ReplicaKey,
    pub(super) wanted: usize,
    /// Of replicas that may take anything.
    pub(super) idle: IdleSlots<'a>,
    /// Of replicas that may take what goes first.
    pub(super) idle_for_due_first: IdleSlots<'a>,
    /// It is outside its hours.
    pub(super) takes_due_first_only: bool,
}

#[derive(Debug, Default)]
pub(super) struct Segments {
    is_shared: bool,
    list: Vec<Segment>,
    survey: Option<Survey>,
    /// What an owner keeps of a long rest.
    pub(super) portion: Portion,
    scans: u64,
}

impl Segments {
    pub(super) fn new(is_shared: bool) -> Self {
        Self { is_shared, ..Self::default() }
    }

    /// With scan keys that follow this one.
    pub(super) fn with_scans_after(self, scan: ScanKey) -> Self {
        Self { scans: scan.0, ..self }
    }

    /// Begins anew; answers to earlier scans no longer count.
    pub(super) fn reset(&mut self) {
        self.list.clear();
        self.survey = None;
    }

    pub(super) fn window_len(&self) -> usize {
        self.list.iter().map(|it| it.sweep.window_len()).sum()
    }

    /// Requests in the replica's window, and whether a scan may lengthen it soon.
    pub(super) fn window_of(&self, replica: ReplicaKey) -> (usize, bool) {
        self.of(replica).map_or((0, false), |it| (it.sweep.window_len(), it.sweep.is_asked()))
    }

    pub(super) fn window(&self, replica: ReplicaKey) -> impl Iterator<Item = &Candidate> {
        self.of(replica).into_iter().flat_map(|it| it.sweep.window())
    }

    pub(super) fn is_asked(&self) -> bool {
        self.survey.is_some() || self.list.iter().any(|it| it.sweep.is_asked())
    }

    /// Whether the store may hold more than the last scan saw, although they are not counted here.
    pub(super) fn may_go_on(&self) -> bool {
        self.list.iter().any(|it| it.sweep.may_go_on())
    }

    /// Whether there is work here for the replica: its own segment, one whose owner cannot be used, or a part of another's that its owner
    /// cannot take immediately.
    pub(super) fn is_for(&self, replica: ReplicaKey, idle: IdleSlots<'_>) -> bool {
        self.is_shared
            || self.list.is_empty()
            || self.index_of(replica).is_some()
            || self.list.iter().any(|it| it.excess(idle) > 0)
    }

    /// Finds a segment for the replica, if it has none, and a window. `waiting` counts the whole partition, and the replica has room for
    /// `wanted`.
    pub(super) fn turn(
        &mut self,
        replica: ReplicaKey,
        wanted: usize,
        waiting: i64,
        idle: IdleSlots<'_>,
        now: i64,
    ) -> Turn {
        self.leave_unusable(replica, idle);
        if self.list.is_empty() || self.is_shared && self.index_of(replica).is_none() {
            self.list.push(Segment::new(replica, self.is_shared, waiting));
        }
        if self.index_of(replica).is_none()
            && let Some(turn) = self.acquire(replica, wanted, idle, now)
        {
            return turn;
        }
        if self.of(replica).is_some_and(|it| it.sweep.window_len() > 0) {
            return Turn::Ready;
        }
        Turn::Wait(self.scan(replica, now))
    }

    /// Merges the segments of replicas that cannot be used into their neighbours'. If nodes share the queue, the store reassigns them in
    /// time.
    fn leave_unusable(&mut self, replica: ReplicaKey, idle: IdleSlots<'_>) {
        let is_left = |it: &Segment| it.owner != replica && idle(it.owner).is_none();
        if self.is_shared {
            return self.list.retain(|it| !is_left(it));
        }
        while self.list.len() > 1
            && let Some(index) = self.list.iter().position(is_left)
        {
            self.join(index);
        }
    }

    /// Takes over a segment for a replica that has none. Returns what it finds instead if it must wait for a survey or there is none.
    fn acquire(&mut self, replica: ReplicaKey, wanted: usize, idle: IdleSlots<'_>, now: i64) -> Option<Turn> {
        let excess = |it: &usize| self.list[*it].excess(idle);
        let index = (0..self.list.len()).max_by_key(excess).filter(|it| excess(it) > 0);
        let Some(index) = index else { return Some(Turn::Nothing) };
        let segment = &mut self.list[index];
        let giver = segment.owner;
        let is_long = usize::try_from(segment.rest).is_ok_and(|rest| rest > wanted);
        if !is_long || idle(giver).is_none() {
            segment.owner = replica;
            return None;
        }
        if self.survey.is_some() {
            return Some(Turn::Wait(None));
        }
        let far = self.portion.survey(segment.rest);
        let until = segment.until.clone();
        self.scans += 1;
        let scan = ScanKey(self.scans);
        self.survey = Some(Survey { scan, taker: replica, giver, asked_at: now });
        Some(Turn::Wait(Some(Range { scan, after: self.from(index).cloned(), until, far: Some(far) })))
    }

    /// Begins a scan of the replica's segment, if none is awaited and one can bring more.
    pub(super) fn scan(&mut self, replica: ReplicaKey, now: i64) -> Option<Range> {
        let index = self.index_of(replica)?;
        let scan = ScanKey(self.scans + 1);
        let from = self.from(index).cloned();
        let segment = &mut self.list[index];
        let after = segment.sweep.ask(scan, from.as_ref(), now)?;
        self.scans += 1;
        Some(Range { scan, after, until: segment.until.clone(), far: None })
    }

    /// The sweep of a scan; `None` of a scan that is not awaited, or a survey.
    pub(super) fn sweep_of(&mut self, scan: ScanKey) -> Option<&mut Sweep> {
        self.list.iter_mut().map(|it| &mut it.sweep).find(|it| it.awaits(scan))
    }

    pub(super) fn is_survey(&self, scan: ScanKey) -> bool {
        self.survey.as_ref().is_some_and(|survey| survey.scan == scan)
    }

    /// The scan was not made.
    pub(super) fn undo(&mut self, scan: ScanKey) {
        self.survey.take_if(|survey| survey.scan == scan);
        if let Some(sweep) = self.sweep_of(scan) {
            sweep.undo();
        }
    }

    /// A scan of a segment was answered, see [`Sweep::absorb`]. Returns true if no request waits in the whole partition. An empty segment
    /// becomes part of its neighbour.
    pub(super) fn absorb(
        &mut self,
        scan: ScanKey,
        fresh: impl Iterator<Item = Candidate>,
        last: Option<Position>,
        reached_end: bool,
        now: i64,
    ) -> bool {
        let Some(index) = self.list.iter().position(|it| it.sweep.awaits(scan)) else { return false };
        let is_nothing_left = last.is_none();
        let is_empty = self.list[index].sweep.absorb(fresh, last, reached_end, now);
        let is_outdated = self.list[index].sweep.is_outdated();
        if self.is_shared {
            // The store has looked everywhere, so the requests in other windows are gone.
            self.list.iter_mut().filter(|_| is_nothing_left).for_each(|it| it.sweep.forget());
            return is_empty && !is_outdated;
        }
        if is_empty && self.list.len() > 1 {
            self.list[index].rest = 0;
            self.join(index);
            return false;
        }
        is_empty && !is_outdated
    }

    fn join(&mut self, index: usize) {
        let Segment { until, rest, .. } = self.list.remove(index);
        let before = index.checked_sub(1);
        let neighbour = &mut self.list[before.unwrap_or(0)];
        if before.is_some() {
            neighbour.until = until;
        }
        neighbour.rest = neighbour.rest.saturating_add(rest);
        neighbour.sweep.grow();
    }

    /// A survey was answered: `seen` are the waiting requests of the giver's segment, in order, and all of them if it `reached_end`. Cuts
    /// it, and gives its taker the part without its giver's cursor.
    pub(super) fn split(&mut self, seen: &[Candidate], reached_end: bool) {
        let Some(Survey { taker, giver, .. }) = self.survey.take() else { return };
        let Some(index) = self.index_of(giver).filter(|_| self.index_of(taker).is_none()) else { return };
        let from = self.from(index).cloned();
        let segment = &mut self.list[index];
        let is_inside = |it: &&Candidate| {
            from.as_ref().is_none_or(|from| it.position > *from)
                && segment.until.as_ref().is_none_or(|until| it.position <= *until)
        };
        let rest: Vec<Candidate> = seen.iter().filter(is_inside).cloned().collect();
        let known = i64::try_from(rest.len()).unwrap_or(i64::MAX);
        let total = if reached_end { known } else { segment.rest.max(known) };
        let Some(place) = weakest_link(&rest, reached_end) else {
            segment.rest = known;
            return;
        };
        let cut = rest[place - 1].position.clone();
        let in_lower = i64::try_from(place).unwrap_or(i64::MAX);
        let giver_keeps_lower = segment.sweep.cursor().is_none_or(|cursor| *cursor <= cut);
        let upper_until = segment.until.replace(cut.clone());
        let mut upper =
            Segment { owner: taker, until: upper_until, sweep: Sweep::new(false), rest: total - in_lower };
        segment.rest = in_lower;
        if giver_keeps_lower {
            segment.sweep.end_at(&cut);
        } else {
            std::mem::swap(&mut segment.owner, &mut upper.owner);
            std::mem::swap(&mut segment.sweep, &mut upper.sweep);
            upper.sweep.begin_behind(&cut);
        }
        self.list.insert(index + 1, upper);
    }

    /// Requests were added at unknown places.
    pub(super) fn add(&mut self, count: i64) {
        let parts = i64::try_from(self.list.len()).unwrap_or(i64::MAX).max(1);
        for (segment, place) in self.list.iter_mut().zip(0..) {
            segment.rest = segment.rest.saturating_add(count / parts + i64::from(place < count % parts));
            segment.sweep.wake();
        }
    }

    pub(super) fn take(&mut self, replica: ReplicaKey, limit: usize, now: i64) -> Vec<Candidate> {
        let Some(index) = self.index_of(replica) else { return Vec::new() };
        let segment = &mut self.list[index];
        let run = segment.sweep.take(limit, now);
        segment.rest = segment.rest.saturating_sub(i64::try_from(run.len()).unwrap_or(i64::MAX)).max(0);
        run
    }

    pub(super) fn take_suspects(&mut self) -> Vec<Candidate> {
        let mut suspects = Vec::new();
        for segment in &mut self.list {
            let own = segment.sweep.take_suspects();
            segment.rest = segment.rest.saturating_sub(i64::try_from(own.len()).unwrap_or(i64::MAX)).max(0);
            suspects.extend(own);
        }
        suspects
    }

    /// Puts back requests that could not be leased, each into the segment that it belongs to by now.
    pub(super) fn put_back(&mut self, replica: ReplicaKey, run: Vec<Candidate>) {
        let Some(index) = self.index_of(replica) else { return };
        let (from, until) = (self.from(index).cloned(), self.list[index].until.clone());
        let is_inside = |it: &Candidate| {
            from.as_ref().is_none_or(|from| it.position > *from)
                && until.as_ref().is_none_or(|until| it.position <= *until)
        };
        self.list[index].sweep.put_back(run.into_iter().filter(is_inside).collect());
    }

    /// Keeps the first `keep` of all windows together, about as many of each. If nodes share the queue, keeps all: the store's cursors have
    /// passed them.
    pub(super) fn trim(&mut self, keep: usize) {
        if self.is_shared {
            return;
        }
        let each = keep.div_ceil(self.list.len().max(1));
        self.list.iter_mut().for_each(|it| it.sweep.trim(each));
    }

    /// Once a second, see [`Sweep::repair`].
    pub(super) fn repair(&mut self, now: i64) {
        self.list.iter_mut().for_each(|it| it.sweep.repair(now));
        self.survey.take_if(|survey| now - survey.asked_at >= PATIENCE_MS);
    }

    pub(super) fn awaits(&self, scan: ScanKey) -> bool {
        self.is_survey(scan) || self.list.iter().any(|it| it.sweep.awaits(scan))
    }

    pub(super) const fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Replicas that sweep it, as far as known here.
    pub(super) const fn len(&self) -> usize {
        self.list.len()
    }

    /// For each segment, the places behind which it begins and its sweep is.
    pub(super) fn places(&self) -> impl Iterator<Item = (Option<&Position>, Option<&Position>)> {
        self.list.iter().enumerate().map(|(index, it)| (self.from(index), it.sweep.cursor()))
    }

    fn of(&self, replica: ReplicaKey) -> Option<&Segment> {
        self.index_of(replica).map(|index| &self.list[index])
    }

    fn index_of(&self, replica: ReplicaKey) -> Option<usize> {
        self.list.iter().position(|it| it.owner == replica)
    }

    fn from(&self, index: usize) -> Option<&Position> {
        self.list.get(index.checked_sub(1)?)?.until.as_ref()
    }
}

impl Segment {
    fn new(owner: ReplicaKey, is_shared: bool, rest: i64) -> Self {
        Self { owner, until: None, sweep: Sweep::new(is_shared), rest }
    }

    /// Requests that its owner cannot take immediately.
    fn excess(&self, idle: IdleSlots<'_>) -> i64 {
        // They wait for a replica that cannot be used, so they precede requests that wait for a busy one.
        idle(self.owner)
            .map_or(i64::MAX, |idle| self.rest.max(1).saturating_sub(i64::try_from(idle).unwrap_or(i64::MAX)))
    }
}
