//! The scheduler's messages: the inputs it takes and the commands it returns. The shell performs commands and
//! feeds inputs; the scheduler itself neither waits, nor reads a clock, nor touches a store or an engine.

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

/// What a scan saw of one waiting request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its place in the partition that was scanned.
    pub position: Position,
    /// Estimated work: input tokens and twice the output tokens it may use.
    pub cost: i64,
    /// When it expires, in milliseconds.
    pub deadline: i64,
    /// Attempts counted against it so far.
    pub attempts: u32,
    /// It was in flight when a replica died, and has not been cleared since.
    pub suspect: bool,
}

/// A request taken from the queue under an epoch; a write under an older epoch touches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The queue row.
    pub key: QueueKey,
    /// Raised by every lease of the row.
    pub epoch: i64,
}

/// How much of a partition waits.
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
    /// How the shell names it.
    pub key: ReplicaKey,
    /// The models it serves.
    pub models: Vec<ModelKey>,
    /// Requests it may have in flight, at most.
    pub max_concurrency: u32,
    /// Requests it may have in flight at first, before it is known how many it can work on.
    pub first_concurrency: u32,
    /// Of an engine that serves online traffic too: the part of `max_concurrency` that the scheduler's requests take at most, in
    /// percent, while no others wait.
    pub colocated_percent: Option<u8>,
    /// What it is sent in a minute, at most.
    pub rate_limits: RateLimits,
    /// What it is sent on a day, at most.
    pub daily_limits: DailyLimits,
    /// Where the shell starts and stops its engine, when that is to be.
    pub process: Option<ProcessRules>,
}

/// When a replica is open, as reckoned by the shell, which knows calendars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineHours {
    /// Whether it is open now.
    pub is_open: bool,
    /// When that changes, in milliseconds: from then on the opposite holds, until the shell says more. `None` where it does not
    /// change.
    pub until: Option<i64>,
    /// Whether it is open at all hours for a model whose deadlines are in danger.
    pub is_open_for_deadlines: bool,
}

/// How loaded an engine is, by its own metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineLoad {
    /// Requests it works on.
    pub running: i64,
    /// Requests that wait in it.
    pub waiting: i64,
    /// How much of its key-value cache the running requests hold; 0 where it does not say.
    pub cache_permille: i64,
    /// Requests that it had to begin again for want of cache, since its start.
    pub preemptions: i64,
}

/// An event that the scheduler is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchedulerInput {
    /// Time passed: at least once a second, and when a [`SchedulerCommand::WakeAt`] asked for it.
    Tick,
    /// What waits in the queue, counted when the process started; replaces what was known.
    Backlogs(Vec<Backlog>),
    /// Partitions of which requests wait for a retry, and the latest retry time of each, in milliseconds: told with
    /// [`Self::Backlogs`], whose counts include these requests.
    Delayed(Vec<(QueuePartition, i64)>),
    /// The replicas that may be used from now on; replaces the list. In-flight work of one that left runs to its end.
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
    /// Partitions that have requests which may be tried by now, as a poll of the store saw: where other nodes fill the queue
    /// too. What is known to wait stays known.
    Waiting(Vec<QueuePartition>),
    /// The answer to a scan.
    Candidates {
        /// The partition that was scanned.
        partition: QueuePartition,
        /// The scan that this answers.
        scan: ScanKey,
        /// Waiting requests of its range, in order.
        candidates: Vec<Candidate>,
        /// No waiting request of its range lies behind the last of `candidates`.
        reached_end: bool,
    },
    /// The answer to a count of deadlines.
    Deadlines {
        /// The partition that was counted.
        partition: QueuePartition,
        /// Its waiting requests that may be tried by now, by their deadlines, in order; empty steps are left out.
        steps: Vec<DeadlineStep>,
        /// Where nodes share the queue, in how many segments it is swept; else 0.
        segments: usize,
    },
    /// The answer to a lease.
    Leased {
        /// The replica it was taken for.
        replica: ReplicaKey,
        /// The partition.
        partition: QueuePartition,
        /// What was taken.
        leases: Vec<Lease>,
        /// What was asked for and had gone (cancelled, expired), by `seq`.
        gone: Vec<i64>,
    },
    /// An attempt completed and its result is on its way to the store.
    Completed {
        /// The request.
        seq: i64,
        /// The tokens it really used: input plus twice the output.
        cost: i64,
        /// The same with the output counted once, as providers count tokens.
        tokens: i64,
    },
    /// An attempt brought no result.
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
    /// These leases are held no more: other nodes ended their requests, or took this process for dead. Later leases of the
    /// same requests are.
    Lost(Vec<Lease>),
    /// How loaded an engine says it is: about once a second while it works, where it says so.
    Load {
        /// The replica.
        replica: ReplicaKey,
        /// What it says.
        load: EngineLoad,
    },
    /// The hours of an engine: before its replica is used for the first time, and whenever they change. A replica of which they
    /// were never told is always open.
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
    /// The process of a replica has ended, and nothing is left of it.
    Stopped {
        /// The replica.
        replica: ReplicaKey,
        /// The order that this answers: to stop it, or to start the process that ended by itself.
        order: ProcessOrder,
        /// Why, in words for the operator, where nobody asked for that: it could not be started, was not ready in time, or crashed.
        error: Option<String>,
    },
    /// The answer to a count of use: what the replica used on the day, by all nodes.
    Used(DailyUse),
    /// What a command asked of the store, which is away, could not be done. The scheduler asks again on a later tick.
    Undone(SchedulerCommand),
    /// A large body, which is not in the store, could not be read. The request waits for a while and counts no attempt.
    Unread(Lease),
}

/// Work that the scheduler asks its shell to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchedulerCommand {
    /// Move what has gathered long enough into the queue, at most `limit` requests. Answered by
    /// [`SchedulerInput::Released`].
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
        /// For whose next runs. Where nodes share the queue, the store knows its segment and how far its sweep has come, and the
        /// range does not count.
        replica: ReplicaKey,
        /// Behind this place; from the start where `None`.
        after: Option<Position>,
        /// Up to this place, itself included; to the end where `None`.
        until: Option<Position>,
        /// How many at most.
        limit: u32,
    },
    /// Count the waiting requests of a partition that may be tried by now, by their deadlines. Answered by
    /// [`SchedulerInput::Deadlines`]; one at a time.
    CountDeadlines {
        /// The partition.
        partition: QueuePartition,
        /// How long a step of time is that is counted together, in milliseconds.
        step_ms: i64,
    },
    /// Take these for one replica, if they still wait. Answered by [`SchedulerInput::Leased`]; one at a time per
    /// replica and partition.
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
    /// Drop the connection of a request in flight; no answer comes.
    Abort {
        /// The request.
        seq: i64,
    },
    /// Put a leased request back into the queue. No answer comes, but [`SchedulerInput::Undone`] where it failed.
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
    /// End a leased request with an error. No answer comes, but [`SchedulerInput::Undone`] where it failed.
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
    /// End the process of a replica. Answered by [`SchedulerInput::Stopped`] when nothing is left of it.
    Stop {
        /// The replica.
        replica: ReplicaKey,
        /// For the answer.
        order: ProcessOrder,
    },
    /// Nothing is sent to a replica for a model for now (its breaker opened): to be said loudly, with the reason.
    Pause {
        /// The replica.
        replica: ReplicaKey,
        /// The model for which it is paused.
        model: ModelKey,
        /// Until when, in milliseconds.
        until: i64,
        /// Why, in words for the operator.
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
