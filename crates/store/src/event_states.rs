//! States of events in columns.

use overnight_domain::webhooks::EventKind;

use crate::StoreError;

/// As in `events.state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventState {
    /// Waiting for a try, or being sent.
    Live,
    Delivered,
    Exhausted,
}

impl EventState {
    pub const ALL: [Self; 3] = [Self::Live, Self::Delivered, Self::Exhausted];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "pending",
            Self::Delivered => "delivered",
            Self::Exhausted => "exhausted",
        }
    }

    pub(super) const fn code(self) -> i64 {
        match self {
            Self::Live => 0,
            Self::Delivered => 1,
            Self::Exhausted => 2,
        }
    }

    pub(super) fn of(code: i64) -> Result<Self, StoreError> {
        let found = Self::ALL.into_iter().find(|state| state.code() == code);
        found.ok_or(StoreError::Damaged("an event's state"))
    }
}

pub(super) const fn kind_code(kind: EventKind) -> i64 {
    match kind {
        EventKind::RequestCompleted => 0,
        EventKind::RequestFailed => 1,
        EventKind::RequestCancelled => 2,
        EventKind::BatchCompleted => 3,
        EventKind::BatchCancelled => 4,
        EventKind::WebhookTest => 5,
        EventKind::AccountLowCredits => 6,
    }
}

pub(super) fn kind_of(code: i64) -> Result<EventKind, StoreError> {
    let found = EventKind::ALL.into_iter().find(|kind| kind_code(*kind) == code);
    found.ok_or(StoreError::Damaged("an event's kind"))
}
