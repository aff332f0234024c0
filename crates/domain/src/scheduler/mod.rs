//! Decides what runs where and when. Pure: inputs and the time go in, actions come out.
//!
//! A walk through it: [`Input::Gathering`] sets when a release is due (`releases`); [`Input::Released`] tells how much
//! waits in each group (`groups`); a replica with room (`replicas`) asks whose turn it is (`fairness`), which looks
//! ahead of that group's cursor (`sweep`); the run that was seen is leased, buffered and sent (`leasing`); what fails is
//! judged by its kind (`attempts`) and by how the replica fares (`breaker`, `failures`, `health`).

mod attempts;
mod breaker;
mod door;
mod facts;
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
mod settings;
mod sweep;
mod timers;
mod upkeep;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use door::*;
use fairness::Model;
use hands::Held;
use random::Random;
use releases::Releases;
use replicas::ReplicaState;
pub use settings::Settings;
use timers::{Timer, Timers};

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
                self.releases.answer(!added.is_empty(), next_ready_at, now);
                self.enqueue(&added, now);
            }
            Input::Waiting(groups) => self.hear(&groups, now),
            Input::Candidates { group, candidates, reached_end } => {
                self.see(group, candidates, reached_end, now);
            }
            Input::Leased { replica, group, leases, gone: _ } => self.hold(replica, group, leases, now),
            Input::Completed { seq, cost } => self.complete(seq, cost, now),
            Input::AttemptFailed { seq, error } => self.fail_attempt(seq, error, now),
            Input::Ended { seqs } => self.end(&seqs.into_iter().collect()),
            Input::Lost(leases) => self.lose(&leases),
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
        let (replicas, is_shared) = (&self.replicas, self.settings.is_shared);
        self.models.entry(key).or_insert_with(|| Model::new(roster::capacity(replicas, key), is_shared))
    }
}
