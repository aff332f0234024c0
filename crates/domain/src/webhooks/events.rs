//! Events sent by webhook.

use crate::ids::{AccountId, EventId};
use crate::money::Credits;
use crate::records::{BatchRecord, RequestSummary};

/// The end of a request or of a batch, low credits of an account, or a test of a receiver.
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
    /// A test of whether the receiver is reached.
    WebhookTest,
    /// The available credits of an account fell below its threshold.
    AccountLowCredits,
}

impl EventKind {
    /// Every kind, in the order of their codes.
    pub const ALL: [Self; 7] = [
        Self::RequestCompleted,
        Self::RequestFailed,
        Self::RequestCancelled,
        Self::BatchCompleted,
        Self::BatchCancelled,
        Self::WebhookTest,
        Self::AccountLowCredits,
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
            Self::AccountLowCredits => "account.low_credits",
        }
    }

    /// The kind with this `type`.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// The subject of an event, as it was when it ended: it does not change any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A request.
    Request(RequestSummary),
    /// A batch.
    Batch(BatchRecord),
    /// An account whose receiver is tested.
    Account(AccountId),
    /// The credits of an account, which are low.
    Credits(AccountCredits),
}

/// The credits of an account, and its threshold for a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountCredits {
    /// Whose.
    pub account: AccountId,
    /// A notice is sent once less than this is available.
    pub threshold: Credits,
    /// The sum of its ledger entries.
    pub balance: Credits,
    /// The part of the balance that its live requests hold.
    pub held: Credits,
}

impl AccountCredits {
    /// Credits for new requests; negative if a payment was taken back.
    pub fn available(&self) -> Credits {
        self.balance.checked_sub(self.held).unwrap_or_default()
    }
}

/// An event to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its identifier, the same for all deliveries.
    pub id: EventId,
    /// What happened.
    pub kind: EventKind,
    /// In milliseconds.
    pub created_at: i64,
    /// Its subject.
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
            "account.low_credits",
        ];
        assert_eq!(EventKind::ALL.map(EventKind::as_str), types);
        assert_eq!(types.map(EventKind::parse), EventKind::ALL.map(Some));
        assert_eq!(EventKind::parse("request.created"), None);
    }
}
