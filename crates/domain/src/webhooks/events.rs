//! What is told of.

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
    /// Nothing happened: somebody wants to see whether a receiver is reached.
    WebhookTest,
    /// Less credits are available to an account than its threshold says.
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
    /// The credits of an account, which are low.
    Credits(AccountCredits),
}

/// The credits of an account, and how few of them it wanted to be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountCredits {
    /// Whose.
    pub account: AccountId,
    /// It is told once less than this is available.
    pub threshold: Credits,
    /// The sum of its ledger entries.
    pub balance: Credits,
    /// What its live requests hold of that.
    pub held: Credits,
}

impl AccountCredits {
    /// What new requests may hold; negative where a payment was taken back.
    pub fn available(&self) -> Credits {
        self.balance.checked_sub(self.held).unwrap_or_default()
    }
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
            "account.low_credits",
        ];
        assert_eq!(EventKind::ALL.map(EventKind::as_str), types);
        assert_eq!(types.map(EventKind::parse), EventKind::ALL.map(Some));
        assert_eq!(EventKind::parse("request.created"), None);
    }
}
