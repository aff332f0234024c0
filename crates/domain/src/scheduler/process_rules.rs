//! When the process of a replica's engine is to run, if the shell starts and stops it.

use super::keys::DeviceKey;

/// When the process of a replica is started and stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRules {
    /// How long its models must have had work before it is started, in milliseconds. If a deadline is in danger, it is started immediately.
    pub start_after_ms: i64,
    /// Time without work after which it is stopped, in milliseconds.
    pub idle_stop_ms: i64,
    /// The device that it shares with other replicas, of which one runs at a time.
    pub device: Option<DeviceKey>,
    /// On a shared device: time after which a waiting replica has its turn, in milliseconds.
    pub time_slice_ms: i64,
}

/// The number of an order to start or stop the process of a replica. Answers to earlier orders than the replica's last may be late and do
/// not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessOrder(pub u64);

/// The state of a replica's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessStatus {
    /// It does not run.
    Stopped,
    /// It was started and is not ready.
    Starting,
    /// It is sent requests.
    Running,
    /// Requests in flight finish, and then it is stopped.
    Draining,
    /// It was asked to end.
    Stopping,
}
