//! Decides what runs where and when. Pure: inputs and the time go in, commands come out.
//!
//! A walk through it: [`SchedulerInput::Gathering`] sets when a release is due (`releases`);
//! [`SchedulerInput::Released`] tells how much waits in each partition (`partitions`); a replica with room (`replicas`) asks
//! whose turn it is (`fairness`, `slot_time`), finds its part of that account's order (`segments`), and no more than its part of few requests
//! (`spreading`), and scans ahead of its cursor there (`sweep`); the run that was seen is leased,
//! buffered and sent (`leasing`); what fails (`failures`) is judged by its kind (`attempts`) and, where that says too little, by
//! how the replica fares (`doubts`, `health`, `breaker`); what it has no room for is held back by account (`refusals`). Outside its hours (`hours`) a replica gets nothing new, and never more than its
//! rate limits (`rate_limits`) and daily budget (`budgets`) allow. Where the shell starts
//! and stops its engine, that runs while there is work (`processes`), in turn with others of its device (`devices`).
//!
//! Each engine replica sweeps a segment of the order. Byte order of the sort key is a walk through the tree of prefixes. Each queue
//! partition's order is cut into segments, one for each replica that takes part, so neighbours meet in one prefix cache. A replica
//! that has nothing left takes half of the longest rest that its owner cannot take at once. Of a long rest its owner keeps only a
//! *portion*, what it does in two minutes (256 to 4,096 requests): larger parts would leave open for hours which replica comes to a
//! request, and when (`domain::scheduler::portions`). The cut is where about half of the cost lies before and neighbours share the
//! fewest cuts of their keys. Runs stay as short as the slots need. In a folder the segments are in memory
//! (`domain::scheduler::segments`); with PostgreSQL they are rows (`store::queue::segments`), so nodes follow the same rule, but for
//! two things: a node does not know what another's replica could take at once, nor how much waits. In a folder it does: where a model
//! has fewer requests than its replicas have slots, a replica takes no more than its part of them, in proportion to its slots and at
//! least 4 requests (`domain::scheduler::spreading`). With PostgreSQL every portion is of up to 4,096 requests.

mod attempts;
mod breaker;
mod budgets;
mod charges;
mod colocation;
mod concurrency;
mod daily_budget;
mod deadline_counts;
mod deadlines;
mod devices;
mod doubts;
mod due_first;
mod failure_code;
mod failures;
mod fairness;
mod health;
mod histories;
mod hours;
mod keys;
mod leases_held;
mod leasing;
mod lists;
mod messages;
mod outcomes;
mod partitions;
mod peak;
mod portions;
mod process_rules;
mod process_state;
mod processes;
mod queries;
mod queueing;
mod random;
mod rate_limits;
mod rate_window;
mod refusals;
mod releases;
mod repair;
mod replica_set;
mod replicas;
mod retries;
mod segments;
mod settings;
mod slot_time;
mod spreading;
mod starts;
mod steady_time;
mod suspects;
mod sweep;
mod throughput;
mod timers;
mod weakest_link;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use deadline_counts::DeadlineCounts;
pub use deadlines::DeadlineStep;
use devices::Device;
use fairness::Model;
use histories::Histories;
use leases_held::HeldLease;
pub use messages::*;
pub use portions::{SURVEY_MAX, survey_max};
pub use queries::SweptSegment;
use random::Random;
use releases::Releases;
use replicas::ReplicaState;
pub use settings::Settings;
use steady_time::SteadyTime;
pub use throughput::Pace;
use timers::{Timer, Timers};
pub use weakest_link::weakest_link;

/// The scheduler. Its memory is bounded by the partitions that have work and the requests it holds a lease of.
///
/// The same seed, inputs and times bring the same commands. Where the clock is set back, every wait ends when it would have ended. It relies on four promises of its shell: a
/// [`SchedulerInput::Tick`] comes at least once a second; every [`SchedulerCommand::Send`] that is not aborted is
/// answered in the end, or its request is named by [`SchedulerInput::Ended`] when its deadline passes; every
/// [`SchedulerCommand::Lease`] that committed is answered, however late; and so is every [`SchedulerCommand::CountUse`],
/// [`SchedulerCommand::Start`] and [`SchedulerCommand::Stop`]. Any other answer may be lost, and is then asked for again.
#[derive(Debug)]
pub struct Scheduler {
    settings: Settings,
    /// All times in here are of this one.
    time: SteadyTime,
    random: Random,
    releases: Releases,
    models: BTreeMap<ModelKey, Model>,
    replicas: BTreeMap<ReplicaKey, ReplicaState>,
    /// As last told, of replicas that are used and of others.
    hours: BTreeMap<ReplicaKey, EngineHours>,
    /// What several replicas share that have processes.
    devices: BTreeMap<DeviceKey, Device>,
    leases_held: BTreeMap<i64, HeldLease>,
    histories: Histories,
    deadline_counts: DeadlineCounts,
    timers: Timers,
    /// Writes to ask for again when the store is back.
    undone: Vec<SchedulerCommand>,
    /// The store is away and is asked for nothing until then.
    store_away_until: i64,
    /// When everything is looked over next.
    repair_at: i64,
    /// Replicas whose state changed in this call.
    touched: BTreeSet<ReplicaKey>,
    out: Vec<SchedulerCommand>,
    is_draining: bool,
}

impl Scheduler {
    /// A scheduler that knows of no replica and no work. `seed` drives its jitter.
    pub const fn new(settings: Settings, seed: u64) -> Self {
        Self {
            settings,
            time: SteadyTime::new(),
            random: Random::new(seed),
            releases: Releases::new(),
            models: BTreeMap::new(),
            replicas: BTreeMap::new(),
            hours: BTreeMap::new(),
            devices: BTreeMap::new(),
            leases_held: BTreeMap::new(),
            histories: Histories::new(),
            deadline_counts: DeadlineCounts::new(),
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
    /// [`SchedulerCommand::WakeAt`] is among it, and only when the time changed.
    pub fn on(&mut self, input: SchedulerInput, now: i64) -> Vec<SchedulerCommand> {
        let now = self.pass(now);
        match self.read(input) {
            SchedulerInput::Tick => self.repair(now),
            SchedulerInput::Backlogs(backlogs) => self.recount(&backlogs, now),
            SchedulerInput::Replicas(list) => self.replace_replicas(list, now),
            SchedulerInput::Gathering { ready_at } => self.releases.gather(ready_at),
            SchedulerInput::Released { added, next_ready_at } => {
                let (has_work, was_burst) = (self.has_work(), self.releases.burst_ends_at(now).is_some());
                self.releases.answer(!added.is_empty(), has_work, next_ready_at, now);
                self.enqueue(&added, now);
                let burst_ends_at = self.releases.burst_ends_at(now);
                self.timers.set(Timer::Burst, burst_ends_at);
                if was_burst && burst_ends_at.is_none() {
                    self.touch_all();
                }
            }
            SchedulerInput::Delayed(delayed) => self.note_delayed(&delayed, now),
            SchedulerInput::Waiting(partitions) => self.note_waiting(&partitions, now),
            SchedulerInput::Candidates { partition, scan, candidates, reached_end } => {
                self.see(partition, scan, candidates, reached_end, now);
            }
            SchedulerInput::Leased { replica, partition, leases, gone: _ } => {
                self.hold(replica, partition, leases, now);
            }
            SchedulerInput::Deadlines { partition, steps, segments } => {
                self.note_deadlines(partition, &steps, segments, now);
            }
            SchedulerInput::Completed { seq, cost, tokens } => self.complete(seq, cost, tokens, now),
            SchedulerInput::AttemptFailed { seq, error } => self.fail_attempt(seq, error, now),
            SchedulerInput::Ended { seqs } => self.end(&seqs.into_iter().collect(), now),
            SchedulerInput::Lost(leases) => self.lose(&leases, now),
            SchedulerInput::Load { replica, load } => self.note_load(replica, load, now),
            SchedulerInput::Hours { replica, hours } => self.note_hours(replica, hours),
            SchedulerInput::Probed { replica, outcome } => self.answer_probe(replica, outcome, now),
            SchedulerInput::Started { replica, order } => self.note_started(replica, order, now),
            SchedulerInput::Stopped { replica, order, error } => {
                self.note_stopped(replica, order, error, now);
            }
            SchedulerInput::Used(sum) => self.note_use(sum),
            SchedulerInput::Undone(command) => self.undo(command, now),
            SchedulerInput::Unread(lease) => self.put_off(&lease, now + repair::UNREAD_MS, now),
        }
        self.advance(now)
    }

    /// Stops: nothing new is released, leased or sent, and leases that were not sent are released. What is in flight
    /// is still taken note of.
    pub fn drain(&mut self, now: i64) -> Vec<SchedulerCommand> {
        let now = self.pass(now);
        self.is_draining = true;
        let keys: Vec<_> = self.replicas.keys().copied().collect();
        for key in keys {
            self.release_buffered(key, None, now);
        }
        self.advance(now)
    }

    /// What follows from the input: due timers, replicas with room, a release, the next wake-up.
    fn advance(&mut self, now: i64) -> Vec<SchedulerCommand> {
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Release => {}
                Timer::Count => self.ask_deadlines(now),
                Timer::Burst => self.touch_all(),
                Timer::Store => {
                    self.redo(now);
                    self.touch_all();
                }
                Timer::Partition(partition) => self.mature(partition, now),
                Timer::Replica(replica) => {
                    self.touched.insert(replica);
                }
            }
        }
        self.serve_touched(now);
        if !self.is_draining && now >= self.store_away_until && self.releases.ask(now) {
            self.out.push(SchedulerCommand::Release { limit: self.settings.release_max });
        }
        let release_at = self.releases.next_at().map(|at| at.max(self.store_away_until));
        self.timers.set(Timer::Release, release_at.filter(|_| !self.is_draining));
        if let Some(at) = self.timers.announce() {
            self.out.push(SchedulerCommand::WakeAt { at });
        }
        self.take_commands()
    }

    fn touch_all(&mut self) {
        self.touched.extend(self.replicas.keys().copied());
    }

    fn touch_model(&mut self, model: ModelKey) {
        let serving = self.replicas.iter().filter(|(_, replica)| replica.config.models.contains(&model));
        self.touched.extend(serving.map(|(key, _)| *key));
    }

    /// The model's partitions, made where it is new.
    fn model(&mut self, key: ModelKey) -> &mut Model {
        let (replicas, is_shared) = (&self.replicas, self.settings.is_shared);
        self.models.entry(key).or_insert_with(|| {
            let mut model = Model::new(replica_set::capacity(replicas, key), is_shared);
            model.per_minute = rate_limits::together(replicas, key);
            model
        })
    }
}
