//! Engines that the shell starts and stops: a replica whose models have had work for a while is started, and one that has had none for long
//! is stopped. In between it is sent requests like any other. Replicas that share a device run in turn (`devices`).
//!
//! Once a second the state machine decides this, because it depends on waiting requests, on deadlines and on hours. A replica whose process
//! does not run is sent no requests, like one outside its hours. No scan reads the queue for a model that no replica serves, so counts of
//! deadlines correct what is known of its partitions. `devices` keeps an account of the time that swaps cost, because a rule by deadlines
//! only would swap at each step of deadlines, and a rule by slices only would be late.

use std::collections::BTreeSet;

use super::Scheduler;
use super::doubts::Evidence;
use super::fairness::Model;
use super::messages::{DeviceKey, ModelKey, ProcessOrder, ProcessStatus, ReplicaKey, SchedulerCommand};
use super::process_state::RESTART;
use super::replicas::ReplicaState;

/// A process that ran for this long begins with the shortest pause again after its next end.
const SETTLED_MS: i64 = 60_000;
/// A replica that answered no probe for this long is restarted.
const HUNG_MS: i64 = 300_000;
const UNKNOWN_START_MS: i64 = 300_000;

impl ReplicaState {
    /// Whether its engine runs, as far as the scheduler starts and stops it.
    pub(super) fn is_running(&self) -> bool {
        self.process.as_ref().is_none_or(|it| it.status == ProcessStatus::Running)
    }

    /// Whether its process ended without an order, and was not ready since.
    pub(super) fn has_crashed(&self) -> bool {
        self.process.as_ref().is_some_and(|it| it.error.is_some() && it.status != ProcessStatus::Running)
    }

    pub(super) fn device(&self) -> Option<DeviceKey> {
        self.config.process.as_ref()?.device
    }

    /// Expected time from an order to start until it is ready, in milliseconds.
    pub(super) fn expected_start_ms(&self) -> i64 {
        let process = self.process.as_ref();
        process.and_then(|it| it.swap_ms.max(it.start_ms)).unwrap_or(UNKNOWN_START_MS)
    }
}

impl Scheduler {
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

    /// Notes whether a replica has work, and works.
    fn note_need(&mut self, key: ReplicaKey, now: i64) {
        let is_wanted = self.is_wanted(key, now);
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let is_idle = replica.claimed() == 0 && !is_wanted;
        let is_unwell = replica.config.models.iter().all(|model| replica.is_paused_for(*model));
        let Some(process) = &mut replica.process else { return };
        process.follow_clock(now);
        process.wanted_since = is_wanted.then(|| process.wanted_since.unwrap_or(now));
        let is_running = process.status == ProcessStatus::Running;
        process.idle_since = (is_idle && is_running).then(|| process.idle_since.unwrap_or(now));
        process.unwell_since = (is_unwell && is_running).then(|| process.unwell_since.unwrap_or(now));
        if is_running && now - process.since >= SETTLED_MS {
            process.failures = 0;
        }
    }

    /// Whether requests wait that the replica is open for, more than other replicas have idle slots for; if it does not run, more than
    /// others will handle until it would be ready.
    fn is_wanted(&self, key: ReplicaKey, now: i64) -> bool {
        let Some(replica) = self.replicas.get(&key).filter(|it| !it.retiring) else { return false };
        let is_wanted = |model: &ModelKey| {
            let waiting = self.models.get(model).map_or(0, Model::known);
            waiting > 0 && replica.is_open_for(*model, &self.models, now) && {
                let others = self.replicas.iter().filter(|(other, it)| **other != key && it.serves(*model));
                let idle: usize = others.map(|(_, it)| it.idle_slots(now)).sum();
                waiting > idle && (replica.is_running() || waiting > idle + self.cared_for(key, *model, now))
            }
        };
        !self.is_draining && replica.config.models.iter().any(is_wanted)
    }

    /// The first deadline in danger among the requests that a replica serves, in milliseconds.
    pub(super) fn first_in_danger(&self, key: ReplicaKey) -> Option<i64> {
        let models = &self.replicas.get(&key)?.config.models;
        models.iter().filter_map(|model| self.models.get(model)?.first_in_danger()).min()
    }

    pub(super) fn is_due(&self, key: ReplicaKey, now: i64) -> bool {
        // Another that was started meanwhile may be enough.
        if !self.is_wanted(key, now) {
            return false;
        }
        let is_urgent = self.first_in_danger(key).is_some();
        let Some(replica) = self.replicas.get(&key) else { return false };
        let rules = replica.config.process.as_ref();
        let process = replica.process.as_ref();
        rules.zip(process).is_some_and(|(rules, it)| it.is_due(rules.start_after_ms, is_urgent, now))
    }

    pub(super) fn start(&mut self, key: ReplicaKey, now: i64) {
        let process = self.replicas.get_mut(&key).and_then(|it| it.process.as_mut());
        if let Some(process) = process {
            process.is_displaced = false;
            let order = process.obey(ProcessStatus::Starting, now);
            self.out.push(SchedulerCommand::Start { replica: key, order });
        }
    }

    /// Leases no more for it, and stops it when its requests in flight are done.
    pub(super) fn drain_process(&mut self, key: ReplicaKey, now: i64) {
        if let Some(process) = self.replicas.get_mut(&key).and_then(|it| it.process.as_mut()) {
            process.enter(ProcessStatus::Draining, now);
        }
        self.note_availability(key, now);
    }

    /// Drains a replica that is not needed, and stops one that has no work left.
    fn stop_if_done(&mut self, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get(&key) else { return };
        let (Some(rules), Some(process)) = (&replica.config.process, &replica.process) else { return };
        let is_open =
            replica.config.models.iter().any(|model| replica.is_open_for(*model, &self.models, now));
        let is_idle = process.idle_since.is_some_and(|since| now - since >= rules.idle_stop_ms);
        let is_hung = process.unwell_since.is_some_and(|since| now - since >= HUNG_MS);
        if is_hung {
            return self.stop_hung(key, now);
        }
        if process.status == ProcessStatus::Running && (is_idle || !is_open || replica.retiring) {
            self.drain_process(key, now);
        }
        let Some(replica) = self.replicas.get(&key) else { return };
        let is_empty = replica.claimed() == 0 && replica.probe.is_none();
        let Some(process) = &replica.process else { return };
        match process.status {
            ProcessStatus::Draining if is_empty => self.stop_process(key, now),
            ProcessStatus::Starting if !is_open => self.stop_process(key, now),
            _ => {}
        }
    }

    /// Stops a replica whose engine hangs. Its requests in flight would never be answered: their connections break with the process.
    fn stop_hung(&mut self, key: ReplicaKey, now: i64) {
        self.stop_process(key, now);
        if let Some(process) = self.replicas.get_mut(&key).and_then(|it| it.process.as_mut()) {
            process.error = Some(format!("it answered no probe for {} s", HUNG_MS / 1_000));
        }
        self.note_availability(key, now);
    }

    pub(super) fn stop_process(&mut self, key: ReplicaKey, now: i64) {
        if let Some(process) = self.replicas.get_mut(&key).and_then(|it| it.process.as_mut()) {
            // Why an earlier start failed does not apply to a start that is given up.
            process.error.take_if(|_| process.status == ProcessStatus::Starting);
            let order = process.obey(ProcessStatus::Stopping, now);
            self.out.push(SchedulerCommand::Stop { replica: key, order });
        }
    }

    /// A process is ready: forgets what was known of the previous one.
    pub(super) fn note_started(&mut self, key: ReplicaKey, order: ProcessOrder, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Some(process) = &mut replica.process else { return };
        if process.order != order || process.status != ProcessStatus::Starting {
            // It became ready although it was told to end: there would be no other end.
            if process.status == ProcessStatus::Stopped {
                self.stop_process(key, now);
            }
            return;
        }
        process.start_ms = Some((now - process.since).max(0));
        process.error = None;
        process.enter(ProcessStatus::Running, now);
        self.note_swap(key, now);
        self.begin_life(key, now);
        self.note_availability(key, now);
    }

    fn begin_life(&mut self, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        (replica.unreached, replica.asked_of, replica.silent_for) = (None, None, None);
        (replica.busy_until, replica.busy_step) = (now, 0);
        let paused: Vec<_> = replica.paused().map(|(model, _)| model).collect();
        for model in paused {
            replica.breaker(model).close();
            self.out.push(SchedulerCommand::Resume { replica: key, model });
        }
    }

    /// A process ended, or could not be started: then with the reason. After an order to end, only the answer to it shows that the process
    /// is gone.
    pub(super) fn note_stopped(
        &mut self,
        key: ReplicaKey,
        order: ProcessOrder,
        error: Option<String>,
        now: i64,
    ) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Some(process) = replica.process.as_mut().filter(|it| it.order == order) else { return };
        let (was_asked, has_not_started) =
            (process.status == ProcessStatus::Stopping, process.status == ProcessStatus::Starting);
        if process.status == ProcessStatus::Stopped || error.is_none() && !was_asked {
            return;
        }
        process.enter(ProcessStatus::Stopped, now);
        // A requested end is no fault, whatever it says.
        let error = if was_asked { process.error.take() } else { error };
        if error.is_some() {
            process.not_before = now + RESTART.equal_jitter_ms(process.failures, &mut self.random);
            process.failures = process.failures.saturating_add(1);
        }
        process.error = error;
        if has_not_started {
            self.note_failed_swap(key);
        }
        if !was_asked {
            self.note_death(key, None, now);
            self.settle_doubts(key, None, Evidence::Died, now);
        }
        self.note_availability(key, now);
    }

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

    /// How long the requests of a model may wait for a process, in milliseconds: to be kept free before their deadlines in addition.
    pub(super) fn start_guard_ms(&self, model: ModelKey) -> i64 {
        let serving =
            || self.replicas.values().filter(|it| !it.retiring && it.config.models.contains(&model));
        if serving().any(|it| it.process.is_none() && it.is_in_hours && it.serves(model)) {
            return 0;
        }
        let guard = |it: &ReplicaState| it.expected_start_ms().saturating_add(self.turn_guard_ms(it));
        serving().filter(|it| it.process.is_some()).map(guard).min().unwrap_or(0)
    }
}
