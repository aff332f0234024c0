//! The scheduler's messages: the inputs it takes and the commands it returns. The shell performs commands and feeds inputs; the scheduler
//! never waits, reads a clock, or uses a store or an engine.

pub use super::daily_budget::{DailyLimits, DailyUse};
use super::deadlines::DeadlineStep;
pub use super::failure_code::FailureCode;
pub use super::keys::{
    AccountKey, DeviceKey, ModelKey, Position, QueueKey, QueuePartition, ReplicaKey, ScanKey,
};
pub use super::outcomes::{AttemptError, ProbeOutcome};
pub use super::process_rules::{ProcessOrder, ProcessRules, ProcessStatus};
pub use super::rate_window::RateLimits;
use crate::records::FailedAttempt;

/// A waiting request, as a scan saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its place in the scanned partition.
    pub position: Position,
    /// Estimated work: input tokens and twice the output tokens it may use.
    pub cost: i64,
    /// When it expires, in milliseconds.
    pub deadline: i64,
    /// Attempts counted against it so far.
    pub attempts: u32,
    /// It was in flight when a replica died, and was not cleared since.
    pub suspect: bool,
}

/// A request taken from the queue under an epoch; a write under an older epoch has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The queue row.
    pub key: QueueKey,
    /// Raised by every lease of the row.
    pub epoch: i64,
}

/// The number of waiting requests of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// The part of the queue.
    pub partition: QueuePartition,
    /// Its waiting requests.
    pub count: i64,
}

/// An engine replica as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// The shell's name for it.
    pub key: ReplicaKey,
    /// The models it serves.
    pub models: Vec<ModelKey>,
    /// Maximum of requests in flight.
    pub max_concurrency: u32,
    /// Requests that may be in flight at first, before its capacity is known.
    pub first_concurrency: u32,
    /// For an engine that also serves online traffic: maximum part of `max_concurrency` for the scheduler's requests while no others wait,
    /// in percent.
    pub colocated_percent: Option<u8>,
    /// Limits per minute.
    pub rate_limits: RateLimits,
    /// Limits per day.
    pub daily_limits: DailyLimits,
    /// Rules of its process, if the shell starts and stops its engine.
    pub process: Option<ProcessRules>,
}

/// When a replica is open, as computed by the shell, which knows calendars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineHours {
    /// Whether it is open now.
    pub is_open: bool,
    /// When `is_open` changes, in milliseconds; then the opposite applies until the shell says more. `None` if it does not change.
    pub until: Option<i64>,
    /// Whether it is open at all hours for a model whose deadlines are in danger.
    pub is_open_for_deadlines: bool,
}

/// An engine's load, by its own metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineLoad {
    /// Requests it works on.
    pub running: i64,
    /// Requests that wait in it.
    pub waiting: i64,
    /// The part of its key-value cache that running requests hold; 0 if unknown.
    pub cache_permille: i64,
    /// Requests restarted for lack of cache, since the engine's start.
    pub preemptions: i64,
}

/// An event for the scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchedulerInput {
    /// Time passed: at least once a second, and when a [`SchedulerCommand::WakeAt`] asked for it.
    Tick,
    /// What waits in the queue, counted when the process started; replaces earlier counts.
    Backlogs(Vec<Backlog>),
    /// Partitions with requests that wait for a retry, and the latest retry time of each, in milliseconds. Sent with [`Self::Backlogs`],
    /// whose counts include these requests.
    Delayed(Vec<(QueuePartition, i64)>),
    /// The replicas that may be used from now on; replaces the list. In-flight work of a removed replica runs to its end.
    Replicas(Vec<Replica>),
    /// A request was accepted and gathers until `ready_at`.
    Gathering {
        /// When it may be released, in milliseconds.
        ready_at: i64,
    },
    /// A release committed.
    Released {
        /// What entered the queue.
        added: Vec<Backlog>,
        /// When the next release is due: now if the limit was reached, else the earliest `ready_at` still gathering.
        next_ready_at: Option<i64>,
    },
    /// Partitions with requests that may be tried by now, as seen by a poll of the store, because other nodes fill the queue too. Requests
    /// known to wait stay known.
    Waiting(Vec<QueuePartition>),
    /// The answer to a scan.
    Candidates {
        /// The partition that was scanned.
        partition: QueuePartition,
        /// The scan that this answers.
        scan: ScanKey,
        /// Waiting requests of its range, in order.
        candidates: Vec<Candidate>,
        /// No waiting request of its range follows the last of `candidates`.
        reached_end: bool,
    },
    /// The answer to a count of deadlines.
    Deadlines {
        /// The partition that was counted.
        partition: QueuePartition,
        /// Its waiting requests that may be tried by now, by their deadlines, in order; empty steps are left out.
        steps: Vec<DeadlineStep>,
        /// In how many segments the partition is swept if nodes share the queue; else 0.
        segments: usize,
    },
    /// The answer to a lease.
    Leased {
        /// The replica it was taken for.
        replica: ReplicaKey,
        /// The partition.
        partition: QueuePartition,
        /// The leases that were taken.
        leases: Vec<Lease>,
        /// Requests that had gone (cancelled, expired), by `seq`.
        gone: Vec<i64>,
    },
    /// An attempt completed and its result is on its way to the store.
    Completed {
        /// The request.
        seq: i64,
        /// The cost really used: input plus twice the output tokens.
        cost: i64,
        /// The same with the output counted once, as providers count tokens.
        tokens: i64,
    },
    /// An attempt failed.
    AttemptFailed {
        /// The request.
        seq: i64,
        /// Why.
        error: AttemptError,
    },
    /// Requests ended by somebody else: a cancel, or their deadline.
    Ended {
        /// The requests, whether queued or in flight.
        seqs: Vec<i64>,
    },
    /// Leases that are no longer held: other nodes ended their requests, or considered this process dead. Later leases of the same requests
    /// are still held.
    Lost(Vec<Lease>),
    /// An engine's load: about once a second while it works, if it reports one.
    Load {
        /// The replica.
        replica: ReplicaKey,
        /// Its load.
        load: EngineLoad,
    },
    /// An engine's hours: before its replica is used for the first time, and whenever they change. A replica whose hours were never sent is
    /// always open.
    Hours {
        /// The replica.
        replica: ReplicaKey,
        /// Its hours.
        hours: EngineHours,
    },
    /// The answer to a probe.
    Probed {
        /// The replica.
        replica: ReplicaKey,
        /// How it answered.
        outcome: ProbeOutcome,
    },
    /// The process of a replica is ready.
    Started {
        /// The replica.
        replica: ReplicaKey,
        /// The order to start it.
        order: ProcessOrder,
    },
    /// The process of a replica has ended completely.
    Stopped {
        /// The replica.
        replica: ReplicaKey,
        /// The order that this answers: to stop it, or to start the process that ended by itself.
        order: ProcessOrder,
        /// Why, for the operator, if nobody asked for the end: it did not start, was not ready in time, or crashed.
        error: Option<String>,
    },
    /// The answer to a count of use: the replica's use of the day, by all nodes.
    Used(DailyUse),
    /// A command failed because the store is unreachable. The scheduler asks again on a later tick.
    Undone(SchedulerCommand),
    /// A large body outside the store could not be read. The request waits for a while, and no attempt counts.
    Unread(Lease),
}

/// Work that the scheduler asks its shell to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchedulerCommand {
    /// Move at most `limit` requests that have gathered long enough into the queue. Answered by [`SchedulerInput::Released`].
    Release {
        /// How many at most.
        limit: u32,
    },
    /// Read waiting requests of a partition that may be tried by now. Answered by [`SchedulerInput::Candidates`].
    Scan {
        /// The partition.
        partition: QueuePartition,
        /// Its name, for the answer.
        scan: ScanKey,
        /// The replica whose next runs it is for. If nodes share the queue, the store knows its segment and how far its sweep is, and the
        /// range does not count.
        replica: ReplicaKey,
        /// Behind this place; from the start if `None`.
        after: Option<Position>,
        /// Up to and including this place; to the end if `None`.
        until: Option<Position>,
        /// How many at most.
        limit: u32,
    },
    /// Count the waiting requests of a partition that may be tried by now, by their deadlines. Answered by [`SchedulerInput::Deadlines`];
    /// one at a time.
    CountDeadlines {
        /// The partition.
        partition: QueuePartition,
        /// Length of a step of deadlines, in milliseconds.
        step_ms: i64,
    },
    /// Take these requests for one replica, if they still wait. Answered by [`SchedulerInput::Leased`]; one at a time per replica and
    /// partition.
    Lease {
        /// Where they will run.
        replica: ReplicaKey,
        /// The partition.
        partition: QueuePartition,
        /// A run of neighbours.
        positions: Vec<Position>,
    },
    /// Send a leased request to its replica. Answered by [`SchedulerInput::Completed`] or [`SchedulerInput::AttemptFailed`].
    Send {
        /// Where.
        replica: ReplicaKey,
        /// What.
        lease: Lease,
    },
    /// Drop the connection of a request in flight; there is no answer.
    Abort {
        /// The request.
        seq: i64,
    },
    /// Put a leased request back into the queue. Answered only if that failed, by [`SchedulerInput::Undone`].
    ReleaseLease {
        /// Where it ran, or was to run.
        replica: ReplicaKey,
        /// The request.
        lease: Lease,
        /// When it may be tried again, in milliseconds.
        retry_at: i64,
        /// The attempt that counts against it, if one does.
        attempt: Option<FailedAttempt>,
        /// Whether it is a suspect from now on.
        suspect: bool,
    },
    /// Fail a leased request. Answered only if that failed, by [`SchedulerInput::Undone`].
    Fail {
        /// Where it ran.
        replica: ReplicaKey,
        /// The request.
        lease: Lease,
        /// Why.
        code: FailureCode,
        /// In words, for the client.
        message: String,
        /// Its last attempt.
        attempt: FailedAttempt,
    },
    /// Add this to what a replica with a daily budget used on a day. Answered by [`SchedulerInput::Used`].
    CountUse(DailyUse),
    /// Ask a replica for a tiny completion. Answered by [`SchedulerInput::Probed`].
    Probe {
        /// The replica.
        replica: ReplicaKey,
        /// The model that is to complete it.
        model: ModelKey,
    },
    /// Start the process of a replica. Answered by [`SchedulerInput::Started`] or [`SchedulerInput::Stopped`].
    Start {
        /// The replica.
        replica: ReplicaKey,
        /// For the answers.
        order: ProcessOrder,
    },
    /// End the process of a replica. Answered by [`SchedulerInput::Stopped`] when it has ended completely.
    Stop {
        /// The replica.
        replica: ReplicaKey,
        /// For the answer.
        order: ProcessOrder,
    },
    /// A replica is paused for a model, because its breaker opened. Reported prominently, with the reason.
    Pause {
        /// The replica.
        replica: ReplicaKey,
        /// The model for which it is paused.
        model: ModelKey,
        /// Until when, in milliseconds.
        until: i64,
        /// Why, for the operator.
        reason: String,
    },
    /// A paused replica is used again.
    Resume {
        /// The replica.
        replica: ReplicaKey,
        /// The model for which it was paused.
        model: ModelKey,
    },
    /// Feed a [`SchedulerInput::Tick`] at this time. Replaces the one asked for before.
    WakeAt {
        /// In milliseconds.
        at: i64,
    },
}
