//! Engines that the shell starts and stops: a replica whose models have had work for a while is started, and one that has had none
//! for long is stopped. In between it is sent requests as any other is. What shares a device with others runs in turn (`devices`).
//!
//! Whether there is work is what is known of the queue, corrected by the counts of deadlines, because nothing scans for a replica that
//! does not run.

use std::collections::BTreeSet;

use super::Scheduler;
use super::doubts::Evidence;
use super::fairness::Model;
use super::messages::{DeviceKey, ModelKey, ReplicaKey, SchedulerCommand};
use super::replicas::ReplicaState;
use super::retries::Backoff;

/// After a start that failed, or an end that nobody asked for.
const RESTART: Backoff = Backoff { base_ms: 5_000, cap_ms: 300_000 };
/// One that has run so long begins anew with the shortest pause after its next end.
const SETTLED_MS: i64 = 60_000;
/// A first start is expected to take so long.
const UNKNOWN_START_MS: i64 = 300_000;

/// When the process of a replica is started and stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRules {
    /// For how many milliseconds its models must have had work before it is started. Where a deadline is in danger, it is started at
    /// once.
    pub start_after_ms: i64,
    /// After how many milliseconds without work it is stopped.
    pub idle_stop_ms: i64,
    /// What it shares with other replicas, of which one runs at a time.
    pub device: Option<DeviceKey>,
    /// Of a shared device: after how many milliseconds another replica has its turn, where one waits.
    pub time_slice_ms: i64,
}

/// How the process of a replica is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessStatus {
    /// It does not run.
    Stopped,
    /// It was started and is not ready.
    Starting,
    /// It is sent requests.
    Running,
    /// What is in flight is finished, and then it is stopped.
    Draining,
    /// It was asked to end.
    Stopping,
}

/// The process of a replica.
#[derive(Debug)]
pub(super) struct EngineProcess {
    pub(super) status: ProcessStatus,
    /// Since when.
    pub(super) since: i64,
    /// Since when its models have had work for it, while they have.
    pub(super) wanted_since: Option<i64>,
    /// Since when it has run without work.
    pub(super) idle_since: Option<i64>,
    /// How long its last start took, from the order to readiness.
    pub(super) start_ms: Option<i64>,
    /// How long it took the last time until it was ready on a shared device, from the moment when the one before it was told to end.
    pub(super) swap_ms: Option<i64>,
    /// For how long it had its device, as far as that counts against it.
    pub(super) used_ms: i64,
    /// Starts that failed and ends that nobody asked for, since it last ran for a while.
    pub(super) failures: u32,
    /// It is not started again before.
    pub(super) not_before: i64,
    /// Why it does not run, where nobody asked for its end.
    pub(super) error: Option<String>,
}

impl EngineProcess {
    const fn new() -> Self {
        Self {
            status: ProcessStatus::Stopped,
            since: 0,
            wanted_since: None,
            idle_since: None,
            start_ms: None,
            swap_ms: None,
            used_ms: 0,
            failures: 0,
            not_before: i64::MIN,
            error: None,
        }
    }

    pub(super) fn enter(&mut self, status: ProcessStatus, now: i64) {
        (self.status, self.since, self.idle_since) = (status, now, None);
    }

    /// Whether it may be started at `now`, where it was wanted for `start_after_ms` or `is_urgent`.
    fn is_due(&self, start_after_ms: i64, is_urgent: bool, now: i64) -> bool {
        let is_ripe = |since: i64| is_urgent || now.saturating_sub(since) >= start_after_ms;
        self.status == ProcessStatus::Stopped
            && self.not_before <= now
            && self.wanted_since.is_some_and(is_ripe)
    }
}

impl ReplicaState {
    /// What is known of its process when the replica is new.
    pub(super) fn new_process(rules: Option<&ProcessRules>) -> Option<EngineProcess> {
        rules.map(|_| EngineProcess::new())
    }

    /// Whether its engine runs, as far as the scheduler starts and stops it.
    pub(super) fn is_running(&self) -> bool {
        self.process.as_ref().is_none_or(|it| it.status == ProcessStatus::Running)
    }

    /// Whether its process ended without having been asked to, and was not ready since.
    pub(super) fn has_crashed(&self) -> bool {
        self.process.as_ref().is_some_and(|it| it.error.is_some() && it.status != ProcessStatus::Running)
    }

    /// The device that it shares.
    pub(super) fn device(&self) -> Option<DeviceKey> {
        self.config.process.as_ref()?.device
    }

    /// For how long its process will have been started from an order to start it, in milliseconds.
    fn expected_start_ms(&self) -> i64 {
        let process = self.process.as_ref();
        process.and_then(|it| it.swap_ms.max(it.start_ms)).unwrap_or(UNKNOWN_START_MS)
    }
}

impl Scheduler {
    /// How the process of a replica is, and since when in milliseconds; `None` where the scheduler does not start it.
    pub fn process_status(&self, replica: ReplicaKey) -> Option<(ProcessStatus, i64)> {
        self.replicas.get(&replica)?.process.as_ref().map(|it| (it.status, it.since))
    }

    /// Whether the engine of a replica runs, as far as the scheduler starts and stops it.
    pub fn is_running(&self, replica: ReplicaKey) -> bool {
        self.replicas.get(&replica).is_none_or(ReplicaState::is_running)
    }

    /// Why the process of a replica does not run though nobody asked for its end, and when it is started again at the earliest, in
    /// milliseconds.
    pub fn process_error(&self, replica: ReplicaKey) -> Option<(&str, i64)> {
        let replica = self.replicas.get(&replica).filter(|it| it.has_crashed())?;
        let process = replica.process.as_ref()?;
        Some((process.error.as_deref()?, process.not_before))
    }

    /// When a process that is being started will be ready, in milliseconds, as long as its last start took; `None` where that is not
    /// known.
    pub fn ready_at(&self, replica: ReplicaKey) -> Option<i64> {
        let process = self.replicas.get(&replica)?.process.as_ref()?;
        let is_starting = process.status == ProcessStatus::Starting;
        process.start_ms.filter(|_| is_starting).map(|ms| process.since.saturating_add(ms))
    }

    /// Once a second: starts and stops processes.
    pub(super) fn follow_processes(&mut self, now: i64) {
        let keys: BTreeSet<ReplicaKey> =
            self.replicas.iter().filter(|(_, it)| it.process.is_some()).map(|(key, _)| *key).collect();
        for key in &keys {
            self.note_need(*key, now);
        }
        self.take_turns(now);
        for key in keys {
            self.stop_if_done(key, now);
            let is_alone = self.replicas.get(&key).is_some_and(|it| it.device().is_none());
            if is_alone && self.is_due(key, now) {
                self.start(key, now);
            }
        }
    }

    /// Takes note of whether a replica has work.
    fn note_need(&mut self, key: ReplicaKey, now: i64) {
        let is_wanted = self.is_wanted(key, now);
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let is_idle = replica.claimed() == 0 && !is_wanted;
        let Some(process) = &mut replica.process else { return };
        process.wanted_since = is_wanted.then(|| process.wanted_since.unwrap_or(now));
        let is_running = process.status == ProcessStatus::Running;
        process.idle_since = (is_idle && is_running).then(|| process.idle_since.unwrap_or(now));
        if is_running && now - process.since >= SETTLED_MS {
            process.failures = 0;
        }
    }

    /// Whether requests wait that the replica is open for, and more than other replicas have idle slots for.
    fn is_wanted(&self, key: ReplicaKey, now: i64) -> bool {
        let Some(replica) = self.replicas.get(&key).filter(|it| !it.retiring) else { return false };
        let is_wanted = |model: &ModelKey| {
            let waiting = self.models.get(model).map_or(0, Model::known);
            waiting > 0 && replica.is_open_for(*model, &self.models, now) && {
                let others = self.replicas.iter().filter(|(other, it)| **other != key && it.serves(*model));
                waiting > others.map(|(_, it)| it.idle_slots(now)).sum()
            }
        };
        !self.is_draining && replica.config.models.iter().any(is_wanted)
    }

    /// The first deadline that is in danger among the requests that a replica serves, in milliseconds.
    pub(super) fn first_in_danger(&self, key: ReplicaKey) -> Option<i64> {
        let models = &self.replicas.get(&key)?.config.models;
        models.iter().filter_map(|model| self.models.get(model)?.first_in_danger()).min()
    }

    pub(super) fn is_due(&self, key: ReplicaKey, now: i64) -> bool {
        let is_urgent = self.first_in_danger(key).is_some();
        let Some(replica) = self.replicas.get(&key) else { return false };
        let rules = replica.config.process.as_ref();
        let process = replica.process.as_ref();
        rules.zip(process).is_some_and(|(rules, it)| it.is_due(rules.start_after_ms, is_urgent, now))
    }

    pub(super) fn start(&mut self, key: ReplicaKey, now: i64) {
        let process = self.replicas.get_mut(&key).and_then(|it| it.process.as_mut());
        if let Some(process) = process {
            process.enter(ProcessStatus::Starting, now);
            self.out.push(SchedulerCommand::Start { replica: key });
        }
    }

    /// Nothing new is leased for it; it is stopped when what is in flight is done.
    pub(super) fn drain_process(&mut self, key: ReplicaKey, now: i64) {
        if let Some(process) = self.replicas.get_mut(&key).and_then(|it| it.process.as_mut()) {
            process.enter(ProcessStatus::Draining, now);
        }
        self.note_availability(key, now);
    }

    /// Drains a replica that nobody has use for, and stops one that has nothing left to do.
    fn stop_if_done(&mut self, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get(&key) else { return };
        let (Some(rules), Some(process)) = (&replica.config.process, &replica.process) else { return };
        let is_open =
            replica.config.models.iter().any(|model| replica.is_open_for(*model, &self.models, now));
        let is_idle = process.idle_since.is_some_and(|since| now - since >= rules.idle_stop_ms);
        if process.status == ProcessStatus::Running && (is_idle || !is_open || replica.retiring) {
            self.drain_process(key, now);
        }
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let is_empty = replica.claimed() == 0 && replica.probe.is_none();
        let Some(process) = &mut replica.process else { return };
        if process.status == ProcessStatus::Draining && is_empty {
            process.enter(ProcessStatus::Stopping, now);
            self.out.push(SchedulerCommand::Stop { replica: key });
        }
    }

    /// A process is ready: what was known of the one before it does not count.
    pub(super) fn note_started(&mut self, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Some(process) = replica.process.as_mut().filter(|it| it.status == ProcessStatus::Starting) else {
            return;
        };
        process.start_ms = Some(now - process.since);
        process.error = None;
        process.enter(ProcessStatus::Running, now);
        self.note_swap(key, now);
        self.begin_life(key, now);
        self.note_availability(key, now);
    }

    fn begin_life(&mut self, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        (replica.unreached, replica.asked_of, replica.busy_until, replica.busy_step) = (None, None, now, 0);
        let paused: Vec<_> = replica.paused().map(|(model, _)| model).collect();
        for model in paused {
            replica.breaker(model).close();
            self.out.push(SchedulerCommand::Resume { replica: key, model });
        }
    }

    /// A process does not run any more, or could not be started: then with the reason.
    pub(super) fn note_stopped(&mut self, key: ReplicaKey, error: Option<String>, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Some(process) = &mut replica.process else { return };
        let was_asked = process.status == ProcessStatus::Stopping;
        // It crashed while it was told to end: the second answer is of no process that runs.
        if process.status == ProcessStatus::Stopped || error.is_none() && !was_asked {
            return;
        }
        process.enter(ProcessStatus::Stopped, now);
        if error.is_some() {
            process.not_before = now + RESTART.equal_jitter_ms(process.failures, &mut self.random);
            process.failures = process.failures.saturating_add(1);
        }
        process.error = error;
        if !was_asked {
            self.note_death(key, None, now);
            self.settle_doubts(key, None, Evidence::Died, now);
        }
        self.note_availability(key, now);
    }

    /// A replica is of use from now on, or no longer.
    fn note_availability(&mut self, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get(&key) else { return };
        let models = replica.config.models.clone();
        if !replica.is_running() {
            self.release_buffered(key, None, now);
        }
        for model in models {
            self.recount_capacity(model);
            self.touch_model(model);
        }
    }

    /// For how long the requests of a model may wait for a process, in milliseconds: what is kept free before their deadlines besides.
    pub(super) fn start_guard_ms(&self, model: ModelKey) -> i64 {
        let serving =
            || self.replicas.values().filter(|it| !it.retiring && it.config.models.contains(&model));
        if serving().any(|it| it.process.is_none() && it.is_in_hours) {
            return 0;
        }
        let guard = |it: &ReplicaState| it.expected_start_ms().saturating_add(self.turn_guard_ms(it));
        serving().filter(|it| it.process.is_some()).map(guard).min().unwrap_or(0)
    }
}
