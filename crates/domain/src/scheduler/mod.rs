//! Decides what runs where and when. Pure: inputs and the time go in, actions come out.
//!
//! A walk through it: [`Input::Gathering`] sets when a release is due (`releases`); [`Input::Released`] tells how much
//! waits in each group (`groups`); a replica with room (`replicas`) asks whose turn it is (`fairness`), which looks
//! ahead of that group's cursor (`sweep`); the run that was seen is leased, buffered and sent (`leasing`); what fails is
//! judged by its kind (`attempts`) and by how the replica fares (`breaker`, `failures`, `health`).

mod attempts;
mod breaker;
mod door;
mod failures;
mod fairness;
mod groups;
mod hands;
mod health;
mod leasing;
mod queueing;
mod random;
mod releases;
mod replicas;
mod retries;
mod roster;
mod sweep;
mod timers;
mod upkeep;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use door::*;
use fairness::Model;
use hands::{Held, Stage};
use random::Random;
use releases::Releases;
use replicas::ReplicaState;
use timers::{Timer, Timers};

/// What an installation may want otherwise. The default suits every size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Requests a release moves at most.
    pub release_max: u32,
    /// Requests a lease takes at most.
    pub run_max: u32,
    /// Requests a look reads at most.
    pub look_max: u32,
    /// Counted attempts after which a request fails.
    pub attempts_max: u32,
    /// Failures in a row that open a replica's breaker.
    pub breaker_failures: u32,
    /// The ceiling of the wait before the second attempt, in milliseconds; doubled by each attempt that follows.
    pub retry_base_ms: i64,
    /// The ceiling of every such wait.
    pub retry_cap_ms: i64,
    /// How long a breaker stays open the first time, in milliseconds; doubled until something succeeds.
    pub pause_base_ms: i64,
    /// The longest it stays open before the next probe.
    pub pause_cap_ms: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            release_max: 1024,
            run_max: 128,
            look_max: 256,
            attempts_max: 5,
            breaker_failures: 5,
            retry_base_ms: 500,
            retry_cap_ms: 60_000,
            pause_base_ms: 500,
            pause_cap_ms: 30_000,
        }
    }
}

/// The scheduler. Its memory is bounded by the groups that have work and the requests it holds a lease of.
///
/// The same seed, inputs and times bring the same actions. It relies on three promises of its shell: a [`Input::Tick`]
/// comes at least once a second; every [`Action::Send`] that is not aborted is answered in the end, or its request is
/// named by [`Input::Ended`] when its deadline passes; and every [`Action::Lease`] that committed is answered, however
/// late. Any other answer may be lost, and is then asked for again.
#[derive(Debug)]
pub struct Scheduler {
    settings: Settings,
    random: Random,
    releases: Releases,
    models: BTreeMap<ModelKey, Model>,
    replicas: BTreeMap<ReplicaKey, ReplicaState>,
    hands: BTreeMap<i64, Held>,
    timers: Timers,
    /// Writes to ask for again when the store is back.
    undone: Vec<Action>,
    /// The store is away and is asked for nothing until then.
    store_away_until: i64,
    /// When everything is looked over next.
    repair_at: i64,
    /// Replicas whose state changed in this call.
    touched: BTreeSet<ReplicaKey>,
    out: Vec<Action>,
    is_draining: bool,
}

impl Scheduler {
    /// A scheduler that knows of no replica and no work. `seed` drives its jitter.
    pub const fn new(settings: Settings, seed: u64) -> Self {
        Self {
            settings,
            random: Random::new(seed),
            releases: Releases::new(),
            models: BTreeMap::new(),
            replicas: BTreeMap::new(),
            hands: BTreeMap::new(),
            timers: Timers::new(),
            undone: Vec::new(),
            store_away_until: i64::MIN,
            repair_at: 0,
            touched: BTreeSet::new(),
            out: Vec::new(),
            is_draining: false,
        }
    }

    /// Takes note of what happened at `now` (milliseconds) and says what is to be done, in order. At most one
    /// [`Action::WakeAt`] is among it, and only when the time changed.
    pub fn on(&mut self, input: Input, now: i64) -> Vec<Action> {
        match input {
            Input::Tick => self.repair(now),
            Input::Backlogs(backlogs) => self.recount(&backlogs, now),
            Input::Replicas(list) => self.replace_replicas(list, now),
            Input::Gathering { ready_at } => self.releases.gather(ready_at),
            Input::Released { added, next_ready_at } => {
                self.releases.answer(next_ready_at);
                self.enqueue(&added, now);
            }
            Input::Candidates { group, candidates, reached_end } => {
                self.see(group, candidates, reached_end, now);
            }
            Input::Leased { replica, group, leases, gone: _ } => self.hold(replica, group, leases, now),
            Input::Completed { seq, cost } => self.complete(seq, cost, now),
            Input::AttemptFailed { seq, error } => self.fail_attempt(seq, error, now),
            Input::Ended { seqs } => self.end(&seqs.into_iter().collect()),
            Input::Probed { replica, healthy } => self.answer_probe(replica, healthy, now),
            Input::Undone(action) => self.undo(action, now),
        }
        self.advance(now)
    }

    /// Stops: nothing new is released, leased or sent, and what was leased and not sent is given back. What is in flight
    /// is still taken note of.
    pub fn drain(&mut self, now: i64) -> Vec<Action> {
        self.is_draining = true;
        let keys: Vec<_> = self.replicas.keys().copied().collect();
        for key in keys {
            self.give_back_buffered(key, now);
        }
        self.advance(now)
    }

    /// Requests sent to the replica and not answered.
    pub fn in_flight(&self, replica: ReplicaKey) -> usize {
        self.replicas.get(&replica).map_or(0, |it| it.in_flight.len())
    }

    /// Requests leased for the replica that wait for a slot.
    pub fn buffered(&self, replica: ReplicaKey) -> usize {
        self.replicas.get(&replica).map_or(0, |it| it.buffered.len())
    }

    /// Whether the replica's breaker is open, or half open after it was.
    pub fn is_paused(&self, replica: ReplicaKey) -> bool {
        self.replicas.get(&replica).is_some_and(|it| !it.breaker.is_closed())
    }

    /// Why the replica was paused last, while it is.
    pub fn pause_reason(&self, replica: ReplicaKey) -> Option<&str> {
        let breaker = &self.replicas.get(&replica)?.breaker;
        (!breaker.is_closed()).then(|| breaker.reason())
    }

    /// Requests of the model that wait in the queue, as far as known: a hint.
    pub fn waiting(&self, model: ModelKey) -> i64 {
        let Some(model) = self.models.get(&model) else { return 0 };
        let aside = i64::try_from(model.suspects.len()).unwrap_or(i64::MAX);
        model.groups.values().fold(aside, |sum, group| sum.saturating_add(group.waiting()))
    }

    /// The work of those requests, in cost: a hint.
    pub fn waiting_cost(&self, model: ModelKey) -> i64 {
        let Some(model) = self.models.get(&model) else { return 0 };
        let aside = model.suspects.iter().fold(0_i64, |sum, it| sum.saturating_add(it.candidate.cost));
        model.groups.values().fold(aside, |sum, group| sum.saturating_add(group.waiting_cost()))
    }

    /// Whether no request is leased or being leased: what a shutdown waits for.
    pub fn is_idle(&self) -> bool {
        self.hands.is_empty() && self.replicas.values().all(|replica| replica.asks.is_empty())
    }

    /// What follows from the input: due timers, replicas with room, a release, the next wake-up.
    fn advance(&mut self, now: i64) -> Vec<Action> {
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Release => {}
                Timer::Store => {
                    self.redo(now);
                    self.touch_all();
                }
                Timer::Group(group) => self.mature(group, now),
                Timer::Replica(replica) => {
                    self.touched.insert(replica);
                }
            }
        }
        self.serve_touched(now);
        if !self.is_draining && now >= self.store_away_until && self.releases.ask(now) {
            self.out.push(Action::Release { limit: self.settings.release_max });
        }
        let release_at = self.releases.next_at().map(|at| at.max(self.store_away_until));
        self.timers.set(Timer::Release, release_at.filter(|_| !self.is_draining));
        if let Some(at) = self.timers.announce() {
            self.out.push(Action::WakeAt { at });
        }
        std::mem::take(&mut self.out)
    }

    fn touch_all(&mut self) {
        self.touched.extend(self.replicas.keys().copied());
    }

    fn touch_model(&mut self, model: ModelKey) {
        let serving = self.replicas.iter().filter(|(_, replica)| replica.config.models.contains(&model));
        self.touched.extend(serving.map(|(key, _)| *key));
    }

    /// The model's groups, made where it is new.
    fn model(&mut self, key: ModelKey) -> &mut Model {
        let replicas = &self.replicas;
        self.models.entry(key).or_insert_with(|| Model::new(roster::capacity(replicas, key)))
    }

    /// Takes a request out of the hands, wherever it was.
    fn let_go(&mut self, seq: i64) -> Option<Held> {
        let held = self.hands.remove(&seq)?;
        if let Some(replica) = self.replicas.get_mut(&held.replica) {
            replica.forget(seq);
        }
        self.touched.insert(held.replica);
        self.unhold(held.lease.key.group, 1);
        Some(held)
    }

    fn unhold(&mut self, group: Group, count: usize) {
        if let Some(state) =
            self.models.get_mut(&group.model).and_then(|it| it.groups.get_mut(&group.account))
        {
            state.held = state.held.saturating_sub(count);
        }
    }

    /// Puts a request that was let go back into the queue.
    fn give_back(&mut self, held: Held, retry_at: i64, counted: bool, suspect: bool, now: i64) {
        let group = held.lease.key.group;
        let model = self.model(group.model);
        let wake_at = model.group(group.account, now).delay(retry_at, held.cost, now);
        if !counted {
            model.settle(group.account, held.cost);
        }
        self.timers.set(Timer::Group(group), Some(wake_at));
        self.out.push(Action::GiveBack { lease: held.lease, retry_at, counted, suspect });
    }

    /// Gives back what waits for a slot of the replica.
    fn give_back_buffered(&mut self, replica: ReplicaKey, now: i64) {
        let Some(state) = self.replicas.get_mut(&replica) else { return };
        for seq in std::mem::take(&mut state.buffered) {
            if let Some(held) = self.let_go(seq) {
                let suspect = held.suspect;
                self.give_back(held, now, false, suspect, now);
            }
        }
    }

    fn held_at(&self, seq: i64, stage: Stage) -> Option<&Held> {
        self.hands.get(&seq).filter(|held| held.stage == stage)
    }
}
