//! When the process of a replica's engine is to run, where the shell starts and stops it.

use super::keys::DeviceKey;

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

/// The number of an order to start or stop the process of a replica, among all of that replica: answers to an earlier one than the last
/// may come late and do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessOrder(pub u64);

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
