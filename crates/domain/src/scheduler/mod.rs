//! Decides what runs where and when. Pure: inputs and the time go in, commands are returned.
//!
//! A walk through it: [`SchedulerInput::Gathering`] sets when a release is due (`releases`), and [`SchedulerInput::Released`] counts the
//! waiting requests of each partition (`partitions`). A replica with room (`replicas`) asks whose turn it is (`fairness`, `slot_time`),
//! finds its part of that account's order (`segments`), and no more than its part of few requests (`spreading`), and scans ahead of its
//! cursor there (`sweep`). The scanned run is leased, buffered and sent (`leasing`). Failures (`failures`) are judged by their kind
//! (`attempts`) and, if that is not enough, by how the replica fares (`doubts`, `health`, `breaker`). Refusals for lack of room hold
//! accounts back (`refusals`). A replica gets no new requests outside its hours (`hours`), and never more than its rate limits
//! (`rate_limits`) and daily budget (`budgets`) allow. An engine that the shell starts and stops runs while there is work (`processes`), in
//! turn with others of its device (`devices`).
//!
//! Each engine replica sweeps a segment of the order. Byte order of the sort key is a walk through the tree of prefixes. Each queue
//! partition's order is cut into segments, one for each replica that takes part, so neighbours meet in one prefix cache. A replica that has
//! no requests left takes half of the longest rest that its owner cannot take immediately. Of a long rest the owner keeps only a *portion*,
//! its work of two minutes (256 to 4,096 requests): with larger parts it would be open for hours which replica gets to a request, and when
//! (`portions`). The cut is at a place with about half of the cost before it, where neighbours share the fewest cuts of their keys. Runs
//! are as short as the slots need.
//!
//! In a folder the segments are in memory (`segments`). With PostgreSQL they are rows (`store::queue::segments`) and follow the same rule,
//! except that a node knows neither what another's replica could take immediately nor how much waits, and every portion is of up to 4,096
//! requests. In a folder, if a model has fewer requests than its replicas have slots, a replica takes no more than its part of them, in
//! proportion to its slots and at least 4 requests (`spreading`).

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

/// The scheduler. Its memory is bounded by the partitions that have work and the requests whose leases it holds.
///
/// The same seed, inputs and times produce the same commands. If the clock is set back, every wait ends when it would have ended. The shell
/// promises four things: a [`SchedulerInput::Tick`] at least once a second; an answer to every [`SchedulerCommand::Send`] that is not
/// aborted, or its request in [`SchedulerInput::Ended`] when its deadline passes; an answer, however late, to every
/// [`SchedulerCommand::Lease`] that committed; and an answer to every [`SchedulerCommand::CountUse`], [`SchedulerCommand::Start`] and
/// [`SchedulerCommand::Stop`]. Any other answer may be lost, and is then asked for again.
#[derive(Debug)]
pub struct Scheduler {
    settings: Settings,
    /// All times in here are its times.
    time: SteadyTime,
    random: Random,
    releases: Releases,
    models: BTreeMap<ModelKey, Model>,
    replicas: BTreeMap<ReplicaKey, ReplicaState>,
    /// As last sent, also of replicas that are not used.
    hours: BTreeMap<ReplicaKey, EngineHours>,
    devices: BTreeMap<DeviceKey, Device>,
    leases_held: BTreeMap<i64, HeldLease>,
    histories: Histories,
    deadline_counts: DeadlineCounts,
    timers: Timers,
    /// Writes to repeat when the store is back.
    undone: Vec<SchedulerCommand>,
    /// The store is unreachable and is not asked until then.
    store_away_until: i64,
    repair_at: i64,
    /// Replicas whose state changed in this call.
    touched: BTreeSet<ReplicaKey>,
    out: Vec<SchedulerCommand>,
    is_draining: bool,
}

impl Scheduler {
    /// A scheduler without replicas and work. `seed` drives its jitter.
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

    /// Processes an input at `now` (milliseconds) and returns the commands, in order. At most one of them is a
    /// [`SchedulerCommand::WakeAt`], and only if the time changed.
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

    /// Stops releasing, leasing and sending, and releases the leases that were not sent. What happens to requests in flight is still
    /// processed.
    pub fn drain(&mut self, now: i64) -> Vec<SchedulerCommand> {
        let now = self.pass(now);
        self.is_draining = true;
        let keys: Vec<_> = self.replicas.keys().copied().collect();
        for key in keys {
            self.release_buffered(key, None, now);
        }
        self.advance(now)
    }

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

    /// Creates it if it is new.
    fn model(&mut self, key: ModelKey) -> &mut Model {
        let (replicas, is_shared) = (&self.replicas, self.settings.is_shared);
        self.models.entry(key).or_insert_with(|| {
            let mut model = Model::new(replica_set::capacity(replicas, key), is_shared);
            model.per_minute = rate_limits::together(replicas, key);
            model
        })
    }
}
