//! What is told of.

use crate::ids::{AccountId, EventId};
use crate::records::{BatchRecord, RequestSummary};

/// The end of a request or of a batch, or a test of a receiver.
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
    /// Nothing happened: somebody wants to see whether a receiver is reached.
    WebhookTest,
}

impl EventKind {
    /// Every kind, in the order of their codes.
    pub const ALL: [Self; 6] = [
        Self::RequestCompleted,
        Self::RequestFailed,
        Self::RequestCancelled,
        Self::BatchCompleted,
        Self::BatchCancelled,
        Self::WebhookTest,
    ];

    /// The `type` of the event.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RequestCompleted => "request.completed",
            Self::RequestFailed => "request.failed",
            Self::RequestCancelled => "request.cancelled",
            Self::BatchCompleted => "batch.completed",
            Self::BatchCancelled => "batch.cancelled",
            Self::WebhookTest => "webhook.test",
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
    /// An account, whose receiver is tested.
    Account(AccountId),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_back_from_its_type() {
        let types = [
            "request.completed",
            "request.failed",
            "request.cancelled",
            "batch.completed",
            "batch.cancelled",
            "webhook.test",
        ];
        assert_eq!(EventKind::ALL.map(EventKind::as_str), types);
        assert_eq!(types.map(EventKind::parse), EventKind::ALL.map(Some));
        assert_eq!(EventKind::parse("request.created"), None);
    }
}
