//! What is told of.

use crate::ids::EventId;
use crate::records::{BatchRecord, RequestSummary};

/// The end of a request or of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A request completed.
    RequestCompleted,
    /// A request failed.
    RequestFailed,
    /// A request was cancelled.
    RequestCancelled,
    /// Every request of a batch has ended.
    BatchCompleted,
    /// A batch was cancelled, and every request of it has ended.
    BatchCancelled,
}

impl EventKind {
    /// Every kind, in the order of their codes.
    pub const ALL: [Self; 5] = [
        Self::RequestCompleted,
        Self::RequestFailed,
        Self::RequestCancelled,
        Self::BatchCompleted,
        Self::BatchCancelled,
    ];

    /// The `type` of the event.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RequestCompleted => "request.completed",
            Self::RequestFailed => "request.failed",
            Self::RequestCancelled => "request.cancelled",
            Self::BatchCompleted => "batch.completed",
            Self::BatchCancelled => "batch.cancelled",
        }
    }

    /// The kind of this `type`.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// What an event is about, as it was when it ended: nothing in it changes any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A request.
    Request(RequestSummary),
    /// A batch.
    Batch(BatchRecord),
}

/// What happened, to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its identifier, the same however often it is told.
    pub id: EventId,
    /// What happened.
    pub kind: EventKind,
    /// When, in milliseconds.
    pub created_at: i64,
    /// To what.
    pub subject: Subject,
}
