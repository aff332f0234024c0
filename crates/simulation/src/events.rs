//! What can happen.

use overnight_domain::scheduler::{AccountKey, Lease, ReplicaKey, SchedulerInput};
use overnight_server::store::CrashPoint;
use overnight_server::store::outbox::Due;

use super::engines::Weather;
use super::tags::Tag;

#[derive(Debug)]
pub(super) enum Event {
    Tick,
    /// The scheduler is told something.
    Tell(SchedulerInput),
    /// The scheduler hears what the use cases signalled.
    DrainSignals,
    Commit,
    Duty(Duty),
    /// An engine is done with a request.
    Answer {
        replica: ReplicaKey,
        lease: Lease,
    },
    /// A receiver of webhooks has answered, or not.
    Tried {
        due: Box<Due>,
        failures: i64,
    },
    /// A write under a lease that somebody believes to hold still.
    Late(Late),
    Weather {
        replica: ReplicaKey,
        weather: Weather,
    },
    Client(Client),
    /// The machine's clock is set by so many milliseconds; forward: the machine slept.
    Jump {
        ms: i64,
    },
    /// The service compares the clocks.
    Look,
    /// The clock was set a moment ago, and this request came afterwards: it has left gathering, and was sent if an engine is free.
    Prompt {
        request: Tag,
        life: u64,
    },
    /// The process dies: now, or with the next group of writes.
    Crash(Option<CrashPoint>),
    Stop,
    Start,
    /// Everything is read and compared with what clients know.
    Verify,
}

impl Event {
    /// Whether it ends with the process.
    pub(super) const fn is_of_process(&self) -> bool {
        matches!(
            self,
            Self::Tick
                | Self::Tell(_)
                | Self::DrainSignals
                | Self::Commit
                | Self::Duty(_)
                | Self::Look
                | Self::Answer { .. }
                | Self::Tried { .. }
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Duty {
    Heartbeat,
    /// Stored waits follow the clock, which moved by so many milliseconds.
    ClockFollower {
        by_ms: i64,
    },
    Expirer,
    BatchCancelResumer,
    BatchDeletionResumer,
    Courier,
    Filler,
    Files,
}

#[derive(Debug, Clone)]
pub(super) enum Client {
    Create(Tag),
    Cancel(Tag),
    Group {
        batch: Tag,
        account: AccountKey,
        requests: Vec<Tag>,
    },
    CancelGroup(Tag),
    /// Sends the first half of the file of a batch.
    Upload(Tag),
    /// Sends the rest of it, and makes the batch.
    EndUpload(Tag),
    DeleteFile(Tag),
    /// Deletes a request or a batch that has ended.
    Delete(Tag),
    /// A create or a group once more, with the same key.
    Repeat(Tag),
    /// Something else with the key of a create or a group.
    ReuseKey(Tag),
}

/// What a node writes that has lost its lease.
#[derive(Debug, Clone)]
pub(super) struct Late {
    pub(super) lease: Lease,
    pub(super) request: Tag,
    pub(super) kind: LateKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LateKind {
    Completion,
    Failure,
    ReleaseLease,
}
