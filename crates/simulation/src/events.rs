//! The events of a run.

use overnight_domain::scheduler::{AccountKey, Lease, ReplicaKey, SchedulerInput};
use overnight_store::CrashPoint;
use overnight_store::outbox::Due;

use super::engines::Weather;
use super::tags::Tag;

#[derive(Debug)]
pub(super) enum Event {
    Tick,
    Tell(SchedulerInput),
    /// The scheduler reads the signals of the use cases.
    DrainSignals,
    Commit,
    Duty(Duty),
    /// An engine finishes a request.
    Answer {
        replica: ReplicaKey,
        lease: Lease,
    },
    /// A webhook receiver has answered, or has not.
    Tried {
        due: Box<Due>,
        failures: i64,
    },
    /// A write under a lease whose holder may have lost it.
    Late(Late),
    Weather {
        replica: ReplicaKey,
        weather: Weather,
    },
    Client(Client),
    /// The machine's clock moves by so many milliseconds; forward: the machine slept.
    Jump {
        ms: i64,
    },
    /// The service compares the clocks.
    Look,
    /// This request was sent just after the clock was set: by now it must have left gathering, and is sent if an engine is free.
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
    /// Whether the event is dropped when the process ends.
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
    /// Moves stored waits by the jump of the clock.
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
    /// The client sends the first half of a batch's file.
    Upload(Tag),
    /// The client sends the rest of it and creates the batch.
    EndUpload(Tag),
    DeleteFile(Tag),
    /// The client deletes a request or batch that has ended.
    Delete(Tag),
    /// The client repeats a create or a group with the same key.
    Repeat(Tag),
    /// The client sends another body with the key of a create or a group.
    ReuseKey(Tag),
}

/// A write of a node that has lost its lease.
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
