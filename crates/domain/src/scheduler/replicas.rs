//! What is known of one engine replica: its slots, the leases that wait for them, its breaker and its pauses.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::breaker::Breaker;
use super::charges::Charge;
use super::colocation::Colocation;
use super::concurrency::ConcurrencyLimit;
use super::daily_budget::DailyBudget;
use super::messages::{Candidate, EngineHours, ModelKey, ProcessStatus, QueuePartition, Replica};
use super::process_state::EngineProcess;
use super::random::Random;
use super::rate_window::RateWindow;
use super::refusals::RefusedRequests;
use super::retries::Backoff;

/// Maximum of buffered leases.
const AHEAD_MAX: usize = 256;
/// Maximum of leases of different partitions under way for one replica.
const ASKS_MAX: usize = 8;
/// Between two trials a replica takes other work this many times as long as the first one took.
const REST_TIMES: i64 = 4;
/// The pause after 429 and 503.
const BUSY: Backoff = Backoff { base_ms: 250, cap_ms: 5_000 };

#[derive(Debug)]
pub(super) struct Ask {
    pub(super) run: Vec<Candidate>,
    pub(super) charged: Charge,
    pub(super) asked_at: i64,
    /// Ended by somebody else since it was asked for.
    pub(super) ended: BTreeSet<i64>,
}

/// A probe under way, and how many of the doubts its answer settles: those from before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    pub(super) asked_at: i64,
    pub(super) doubts: usize,
    pub(super) model: ModelKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filling {
    IdleSlots,
    /// Idle slots and buffered leases, so that a freed slot is filled immediately.
    Ahead,
}

/// Requests are named by `seq`; the facts about them are in `leases_held`.
#[derive(Debug)]
pub(super) struct ReplicaState {
    pub(super) config: Replica,
    pub(super) limit: ConcurrencyLimit,
    /// Of an engine that also serves others.
    pub(super) colocation: Option<Colocation>,
    pub(super) rate: RateWindow,
    pub(super) budget: DailyBudget,
    /// Its models that are out because its budget is used up.
    pub(super) spent_for: BTreeSet<ModelKey>,
    pub(super) process: Option<EngineProcess>,
    pub(super) hours: EngineHours,
    /// Its models that are out because of its hours.
    pub(super) closed_for: BTreeSet<ModelKey>,
    /// It may take anything, not only what goes first.
    pub(super) is_in_hours: bool,
    /// It left the list: requests in flight run to their end.
    pub(super) retiring: bool,
    /// Sent and not answered, each with its number among all that were sent.
    pub(super) in_flight: BTreeMap<i64, u64>,
    sent: u64,
    pub(super) refused: RefusedRequests,
    pub(super) completed_at: i64,
    pub(super) buffered: VecDeque<i64>,
    pub(super) asks: BTreeMap<QueuePartition, Ask>,
    /// Failed requests whose fault is not known yet, oldest first.
    pub(super) doubts: Vec<i64>,
    /// Doubts that may mean that the replica died.
    pub(super) broken: usize,
    /// How many requests had been sent when the first of them broke.
    broken_since: u64,
    pub(super) probe: Option<Probe>,
    /// An answer to a request of this model asked for a long pause: after a short one, a probe of ours checks that.
    pub(super) asked_of: Option<ModelKey>,
    /// Its probe for this model was not answered in time while requests were in flight, and there was no answer since: it is busy with
    /// those, or hangs. No more is sent, because that would only wait; the last request in flight decides.
    pub(super) silent_for: Option<ModelKey>,
    /// No connection could be made, for this model and reason, and there was no answer since.
    pub(super) unreached: Option<(ModelKey, String)>,
    /// The request that has had the replica to itself since it was sent.
    pub(super) alone: Option<i64>,
    /// The suspects that are being leased, wait for the replica to drain, or run there without other work.
    pub(super) trial: BTreeSet<i64>,
    /// The model of the current or last trial, and since when the replica has been reserved for it.
    trial_since: Option<(ModelKey, i64)>,
    /// Until then it takes other work, if there is any.
    rest_until: i64,
    /// By model; a model that never failed has none.
    breakers: BTreeMap<ModelKey, Breaker>,
    pub(super) busy_until: i64,
    pub(super) busy_step: u32,
    pub(super) next_model: usize,
}

impl ReplicaState {
    pub(super) fn new(config: Replica, hours: EngineHours) -> Self {
        Self {
            limit: ConcurrencyLimit::new(config.first_concurrency, config.max_concurrency),
            colocation: Colocation::new(&config),
            rate: RateWindow::new(config.rate_limits),
            budget: DailyBudget::new(config.key, config.daily_limits),
            spent_for: BTreeSet::new(),
            process: config.process.as_ref().map(|_| EngineProcess::new()),
            config,
            hours,
            closed_for: BTreeSet::new(),
            is_in_hours: true,
            retiring: false,
            in_flight: BTreeMap::new(),
            sent: 0,
            refused: RefusedRequests::default(),
            completed_at: i64::MIN,
            buffered: VecDeque::new(),
            asks: BTreeMap::new(),
            doubts: Vec::new(),
            broken: 0,
            broken_since: 0,
            probe: None,
            asked_of: None,
            silent_for: None,
            unreached: None,
            alone: None,
            trial: BTreeSet::new(),
            trial_since: None,
            rest_until: i64::MIN,
            breakers: BTreeMap::new(),
            busy_until: i64::MIN,
            busy_step: 0,
            next_model: 0,
        }
    }

    pub(super) fn slots(&self) -> usize {
        let most = self.colocation.as_ref().map_or(usize::MAX, Colocation::current);
        self.limit.current().min(most)
    }

    pub(super) fn breaker(&mut self, model: ModelKey) -> &mut Breaker {
        self.breakers.entry(model).or_insert_with(Breaker::new)
    }

    pub(super) fn paused(&self) -> impl Iterator<Item = (ModelKey, &Breaker)> {
        self.breakers
            .iter()
            .filter(|(_, breaker)| breaker.is_open())
            .map(|(model, breaker)| (*model, breaker))
    }

    pub(super) fn is_paused_for(&self, model: ModelKey) -> bool {
        self.breakers.get(&model).is_some_and(Breaker::is_open)
    }

    /// Whether it may be sent requests for the model, as far as the model matters.
    pub(super) fn serves(&self, model: ModelKey) -> bool {
        self.config.models.contains(&model) && !self.is_out_for(model)
    }

    /// Whether it is out for the model: paused, outside its hours, over its budget, or not running.
    pub(super) fn is_out_for(&self, model: ModelKey) -> bool {
        let is_closed = self.closed_for.contains(&model) || self.spent_for.contains(&model);
        !self.is_running() || self.is_paused_for(model) || is_closed
    }

    /// Whether it is outside its hours for all its models.
    pub(super) fn is_closed(&self) -> bool {
        !self.closed_for.is_empty() && self.config.models.iter().all(|it| self.closed_for.contains(it))
    }

    /// When the probe of each paused model is due, except models it is closed for.
    pub(super) fn probes(&self) -> impl Iterator<Item = (ModelKey, i64)> {
        let open = self.paused().filter(|(model, _)| !self.closed_for.contains(model));
        open.filter_map(|(model, breaker)| Some((model, breaker.probe_at()?)))
    }

    /// Drains for suspects, from now on.
    pub(super) fn begin_trial(&mut self, model: ModelKey, group: &[Candidate], now: i64) {
        self.trial = group.iter().map(|it| it.position.seq).collect();
        self.trial_since = Some((model, now));
    }

    /// Whether it is reserved for suspects.
    pub(super) fn is_trying(&self) -> bool {
        !self.trial.is_empty()
    }

    /// Whether at most the trial occupies it.
    pub(super) fn is_ready_for_trial(&self) -> bool {
        let mut occupying = self.in_flight.keys().chain(&self.doubts);
        !self.is_trying() || occupying.all(|seq| self.trial.contains(seq))
    }

    /// Whether other work precedes the next trial: for several times as long as the last one took, so that requests that break their
    /// connections take a small part of its time, however many they are. The trial in which a replica died lasted until the replica is
    /// back.
    pub(super) fn rests(&mut self, now: i64) -> bool {
        if !self.is_trying()
            && let Some((model, since)) = self.trial_since
        {
            if !self.is_usable(now) || self.is_paused_for(model) {
                return true;
            }
            self.trial_since = None;
            self.rest_until = now.saturating_add(REST_TIMES * (now - since).max(0));
        }
        now < self.rest_until
    }

    /// Requests sent so far.
    pub(super) const fn sent(&self) -> u64 {
        self.sent
    }

    /// A request completed: it has room for others, and its rest ends.
    pub(super) fn note_room(&mut self, now: i64) {
        self.completed_at = now;
        self.refused = RefusedRequests::default();
        self.busy_until = self.busy_until.min(now);
        self.busy_step = 0;
    }

    /// A connection broke, or a gateway says so.
    pub(super) fn note_broken(&mut self) {
        if self.broken == 0 {
            self.broken_since = self.sent;
        }
        self.broken += 1;
    }

    /// Whether a request still runs that ran when the first connection broke: then the replica did not die.
    pub(super) fn has_survivors(&self) -> bool {
        self.in_flight.values().any(|number| *number <= self.broken_since)
    }

    pub(super) fn occupied(&self) -> usize {
        self.in_flight.len() + self.doubts.len()
    }

    /// Everything leased or being leased for it.
    pub(super) fn claimed(&self) -> usize {
        self.occupied() + self.buffered.len() + self.asks.values().map(|ask| ask.run.len()).sum::<usize>()
    }

    /// Leases that may wait for a slot, so that a slot is filled again while the next lease commits: half of the slots, and of more than
    /// 128 all but 64; but almost none if slots are few, because a request held back there could run on another replica.
    pub(super) fn ahead(&self) -> usize {
        match self.slots() {
            slots @ 0..=8 => slots / 4,
            slots => (slots / 2).max(slots.saturating_sub(64)).min(AHEAD_MAX),
        }
    }

    /// Whether requests may be leased for it and sent to it now.
    pub(super) fn is_usable(&self, now: i64) -> bool {
        !self.retiring
            && self.is_running()
            && self.busy_until <= now
            && self.asked_of.is_none()
            && self.silent_for.is_none()
            && !self.may_be_dead()
    }

    fn may_be_dead(&self) -> bool {
        self.unreached.is_some() || (self.broken > 0 && !self.has_survivors())
    }

    /// Slots for which no request is leased; `None` if it is unavailable for the model, for an unknown time. 0 if its budget had no room
    /// for a request lately, so that others take it.
    pub(super) fn idle_for(&self, model: ModelKey, now: i64) -> Option<usize> {
        let is_out = self.retiring || self.may_be_dead() || self.is_trying() || !self.serves(model);
        (!is_out).then(|| if self.budget.is_short() { 0 } else { self.idle_slots(now) })
    }

    /// Slots for which no request is leased.
    pub(super) fn idle_slots(&self, now: i64) -> usize {
        if !self.is_usable(now) || self.is_trying() {
            return 0;
        }
        self.slots().saturating_sub(self.claimed()).min(self.rate_room(now))
    }

    /// Requests to lease for it now: none until that is worth a write.
    pub(super) fn room(&self, filling: Filling, now: i64) -> usize {
        if !self.is_usable(now) || self.asks.len() >= ASKS_MAX {
            return 0;
        }
        if filling == Filling::IdleSlots {
            return self.idle_slots(now);
        }
        let room = (self.slots() + self.ahead()).saturating_sub(self.claimed());
        if room >= (self.ahead() / 2).max(1) { room.min(self.rate_room(now)) } else { 0 }
    }

    /// A request is sent: notes who is alone.
    pub(super) fn occupy(&mut self, seq: i64) {
        self.alone = (self.occupied() == 0).then_some(seq);
        self.sent += 1;
        self.in_flight.insert(seq, self.sent);
        self.limit.note_in_flight(self.in_flight.len());
    }

    /// A sent request is no longer in flight.
    pub(super) fn forget_sent(&mut self, seq: i64) {
        self.in_flight.remove(&seq);
        self.alone = self.alone.filter(|it| *it != seq);
    }

    pub(super) fn forget(&mut self, seq: i64) {
        self.forget_sent(seq);
        self.buffered.retain(|it| *it != seq);
        if let Some(index) = self.doubts.iter().position(|it| *it == seq) {
            self.doubts.remove(index);
            if let Some(probe) = &mut self.probe
                && index < probe.doubts
            {
                probe.doubts -= 1;
            }
        }
        self.trial.remove(&seq);
    }

    /// The engine is busy: pauses new work, longer each time it says so again. Returns the pause.
    pub(super) fn back_off(&mut self, retry_after_ms: i64, random: &mut Random, now: i64) -> i64 {
        if self.busy_until <= now {
            self.busy_until = now + BUSY.equal_jitter_ms(self.busy_step, random);
            self.busy_step = self.busy_step.saturating_add(1);
            self.limit.note_refusal();
        }
        self.busy_until = self.busy_until.max(now.saturating_add(retry_after_ms));
        self.busy_until - now
    }

    /// When it needs attention next.
    pub(super) fn next_at(&self, now: i64) -> Option<i64> {
        let busy = (self.busy_until > now).then_some(self.busy_until);
        let is_idle = self.probe.is_none() && !self.retiring && self.is_running();
        let probe = self.probe_at(now).filter(|_| is_idle);
        let rest = (self.rest_until > now).then_some(self.rest_until);
        let hours = self.hours.until.filter(|at| *at > now);
        let rate = self.rate.opens_at(now);
        [busy, probe, rest, hours, rate].into_iter().flatten().min().map(|at| at.max(now + 1))
    }

    /// Whether it left the list and can be forgotten: no answer is due that might be mistaken for another probe's, no request counts
    /// against its rate limits should it return, and no use is to be added to its day.
    pub(super) fn is_gone(&self, now: i64) -> bool {
        let has_ended = self.process.as_ref().is_none_or(|it| it.status == ProcessStatus::Stopped);
        let is_forgotten = self.rate.is_empty(now) && self.budget.is_written();
        self.retiring && has_ended && self.claimed() == 0 && self.probe.is_none() && is_forgotten
    }
}
