//! The process of a replica's engine, where the shell starts and stops it: when it is to run, and how it is.

use super::messages::DeviceKey;
use super::replicas::ReplicaState;
use super::retries::Backoff;

/// A first start is expected to take so long.
const UNKNOWN_START_MS: i64 = 300_000;
/// After a start that failed, or an end that nobody asked for.
pub(super) const RESTART: Backoff = Backoff { base_ms: 5_000, cap_ms: 300_000 };

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
    /// Since when it has been paused for all its models, while it runs.
    pub(super) unwell_since: Option<i64>,
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
            unwell_since: None,
            start_ms: None,
            swap_ms: None,
            used_ms: 0,
            failures: 0,
            not_before: i64::MIN,
            error: None,
        }
    }

    pub(super) fn enter(&mut self, status: ProcessStatus, now: i64) {
        (self.status, self.since) = (status, now);
        (self.idle_since, self.unwell_since) = (None, None);
    }

    /// Whether it may be started at `now`, where it was wanted for `start_after_ms` or `is_urgent`.
    pub(super) fn is_due(&self, start_after_ms: i64, is_urgent: bool, now: i64) -> bool {
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
    pub(super) fn expected_start_ms(&self) -> i64 {
        let process = self.process.as_ref();
        process.and_then(|it| it.swap_ms.max(it.start_ms)).unwrap_or(UNKNOWN_START_MS)
    }
}
