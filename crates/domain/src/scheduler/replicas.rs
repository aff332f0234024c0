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

/// Leases that may wait for a slot at most.
const AHEAD_MAX: usize = 256;
/// Leases of different partitions that may be under way for one replica.
const ASKS_MAX: usize = 8;
/// Between two trials a replica is for others so many times as long as it was for the first one.
const REST_TIMES: i64 = 4;
/// The pause after 429 and 503.
const BUSY: Backoff = Backoff { base_ms: 250, cap_ms: 5_000 };

/// A lease under way.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) run: Vec<Candidate>,
    /// What its account was charged for it.
    pub(super) charged: Charge,
    pub(super) asked_at: i64,
    /// Ended by somebody else since it was asked for.
    pub(super) ended: BTreeSet<i64>,
}

/// A probe under way, and how many of the doubts its answer settles: those that came before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    pub(super) asked_at: i64,
    pub(super) doubts: usize,
    /// The model that is asked for.
    pub(super) model: ModelKey,
}

/// What a run is leased for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filling {
    /// The slots that have nothing to do.
    IdleSlots,
    /// Those, and what waits in front of them, so that a freed slot is filled at once.
    Ahead,
}

/// A replica's state. Requests are named by `seq`; the facts about them are in `leases_held`.
#[derive(Debug)]
pub(super) struct ReplicaState {
    pub(super) config: Replica,
    /// How many requests it may work on at once.
    pub(super) limit: ConcurrencyLimit,
    /// Of an engine that serves others too, how many of those it may.
    pub(super) colocation: Option<Colocation>,
    /// What it was sent lately, and how much that may be.
    pub(super) rate: RateWindow,
    /// What it was sent today, and how much that may be.
    pub(super) budget: DailyBudget,
    /// Its models of which nothing is leased for it because its budget is used up.
    pub(super) spent_for: BTreeSet<ModelKey>,
    /// Its engine, where the shell starts and stops that.
    pub(super) process: Option<EngineProcess>,
    pub(super) hours: EngineHours,
    /// Its models of which nothing is leased for it, outside its hours.
    pub(super) closed_for: BTreeSet<ModelKey>,
    /// It may take anything, and not only what goes first.
    pub(super) is_in_hours: bool,
    /// It left the list: what is in flight runs to its end.
    pub(super) retiring: bool,
    /// Sent and not answered, each with its number among all that were sent.
    pub(super) in_flight: BTreeMap<i64, u64>,
    sent: u64,
    /// Requests that it had no room for since one completed.
    pub(super) refused: RefusedRequests,
    /// When a request was last completed, in milliseconds.
    pub(super) completed_at: i64,
    pub(super) buffered: VecDeque<i64>,
    pub(super) asks: BTreeMap<QueuePartition, Ask>,
    /// Failed, by whose fault is not known yet; in the order of their coming.
    pub(super) doubts: Vec<i64>,
    /// How many of the doubts may mean that the replica died.
    pub(super) broken: usize,
    /// How many requests had been sent when the first of them broke.
    broken_since: u64,
    pub(super) probe: Option<Probe>,
    /// The engine asked to be left alone for long by an answer to a request of this model: after the short pause a probe of ours
    /// is to tell whether that is so.
    pub(super) asked_of: Option<ModelKey>,
    /// Its probe for this model was not answered in time while requests were in flight, and nothing was heard since: it is busy with
    /// those, or hangs. What it is sent would only wait, so that the last of them tells.
    pub(super) silent_for: Option<ModelKey>,
    /// No connection could be made, for this model and reason, and nothing was heard since.
    pub(super) unreached: Option<(ModelKey, String)>,
    /// The request that has had the replica to itself since it was sent.
    pub(super) alone: Option<i64>,
    /// The suspects that are being leased, wait for the replica to drain, or run there by themselves.
    pub(super) trial: BTreeSet<i64>,
    /// The model of the trial, and since when the replica has been for it alone, while it is or just was.
    trial_since: Option<(ModelKey, i64)>,
    /// Until then it is for others, if they have work.
    rest_until: i64,
    /// By model; a model that never failed has none.
    breakers: BTreeMap<ModelKey, Breaker>,
    pub(super) busy_until: i64,
    pub(super) busy_step: u32,
    /// Which of its models is leased from next.
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

    /// Requests it may work on at once.
    pub(super) fn slots(&self) -> usize {
        let most = self.colocation.as_ref().map_or(usize::MAX, Colocation::current);
        self.limit.current().min(most)
    }

    pub(super) fn breaker(&mut self, model: ModelKey) -> &mut Breaker {
        self.breakers.entry(model).or_insert_with(Breaker::new)
    }

    /// The models whose breakers are open.
    pub(super) fn paused(&self) -> impl Iterator<Item = (ModelKey, &Breaker)> {
        self.breakers
            .iter()
            .filter(|(_, breaker)| breaker.is_open())
            .map(|(model, breaker)| (*model, breaker))
    }

    pub(super) fn is_paused_for(&self, model: ModelKey) -> bool {
        self.breakers.get(&model).is_some_and(Breaker::is_open)
    }

    /// Whether it may be sent requests for the model, as far as that is for the model to say.
    pub(super) fn serves(&self, model: ModelKey) -> bool {
        self.config.models.contains(&model) && !self.is_out_for(model)
    }

    /// Whether nothing of the model is leased for it: it is paused, or outside its hours, or its budget is used up, or it does not run.
    pub(super) fn is_out_for(&self, model: ModelKey) -> bool {
        let is_closed = self.closed_for.contains(&model) || self.spent_for.contains(&model);
        !self.is_running() || self.is_paused_for(model) || is_closed
    }

    /// Whether it is outside its hours for every one of its models.
    pub(super) fn is_closed(&self) -> bool {
        !self.closed_for.is_empty() && self.config.models.iter().all(|it| self.closed_for.contains(it))
    }

    /// When the probe of each paused model is due; of those it is closed for, none is.
    pub(super) fn probes(&self) -> impl Iterator<Item = (ModelKey, i64)> {
        let open = self.paused().filter(|(model, _)| !self.closed_for.contains(model));
        open.filter_map(|(model, breaker)| Some((model, breaker.probe_at()?)))
    }

    /// Drains for suspects, from now on.
    pub(super) fn begin_trial(&mut self, model: ModelKey, group: &[Candidate], now: i64) {
        self.trial = group.iter().map(|it| it.position.seq).collect();
        self.trial_since = Some((model, now));
    }

    /// Whether it is for suspects alone.
    pub(super) fn is_trying(&self) -> bool {
        !self.trial.is_empty()
    }

    /// Whether nothing occupies it but the trial, if there is one.
    pub(super) fn is_ready_for_trial(&self) -> bool {
        let mut occupying = self.in_flight.keys().chain(&self.doubts);
        !self.is_trying() || occupying.all(|seq| self.trial.contains(seq))
    }

    /// Whether others come before the next trial: for several times as long as the last one kept it from them, so that
    /// requests which break their connections take a small part of its time, however many they are. A replica that died in
    /// its trial was kept from them until it is back.
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

    /// It completed a request: it has room for others, and its rest ends.
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

    /// Whether anything still runs that ran when the first connection broke: then the replica did not die.
    pub(super) fn has_survivors(&self) -> bool {
        self.in_flight.values().any(|number| *number <= self.broken_since)
    }

    /// Slots taken.
    pub(super) fn occupied(&self) -> usize {
        self.in_flight.len() + self.doubts.len()
    }

    /// Everything leased or being leased for it.
    pub(super) fn claimed(&self) -> usize {
        self.occupied() + self.buffered.len() + self.asks.values().map(|ask| ask.run.len()).sum::<usize>()
    }

    /// Leases that may wait for a slot, so that a slot is filled again while the next lease commits: half of the slots,
    /// and of more than 128 all but 64; but next to none where slots are few, for there a request held back is one that
    /// another replica could run.
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

    /// Slots that nothing is leased for; `None` where it is not to be had for the model, for who knows how long. None where its budget
    /// had no room for a request lately: that is for others to take.
    pub(super) fn idle_for(&self, model: ModelKey, now: i64) -> Option<usize> {
        let is_out = self.retiring || self.may_be_dead() || self.is_trying() || !self.serves(model);
        (!is_out).then(|| if self.budget.is_short() { 0 } else { self.idle_slots(now) })
    }

    /// Slots that nothing is leased for.
    pub(super) fn idle_slots(&self, now: i64) -> usize {
        if !self.is_usable(now) || self.is_trying() {
            return 0;
        }
        self.slots().saturating_sub(self.claimed()).min(self.rate_room(now))
    }

    /// How many requests to lease for it now: none until that is worth a write.
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

    /// A request is no longer in flight, and had been sent all the same.
    pub(super) fn forget_sent(&mut self, seq: i64) {
        self.in_flight.remove(&seq);
        self.alone = self.alone.filter(|it| *it != seq);
    }

    /// Nothing here knows the request any more.
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

    /// The engine is busy: a pause of new work that grows while it says so again. The pause's length.
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

    /// It left the list and nothing of it is left, not even an answer that might be taken for another probe's, nor anything that counts
    /// against its rate limits should it come back, nor to be added to its day.
    pub(super) fn is_gone(&self, now: i64) -> bool {
        let has_ended = self.process.as_ref().is_none_or(|it| it.status == ProcessStatus::Stopped);
        let is_forgotten = self.rate.is_empty(now) && self.budget.is_written();
        self.retiring && has_ended && self.claimed() == 0 && self.probe.is_none() && is_forgotten
    }
}
