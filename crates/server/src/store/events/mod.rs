//! The outbox of webhooks. An event is written in the transaction that ended its request or batch; it is then claimed,
//! tried and told of what came of it, until it is delivered or given up. A claim is at-least-once by design: it ends with
//! its conclusion or with the death of its process, and every claim raises the event's number of tries.

mod announcing;
mod claims;
mod conclusions;
mod interruptions;
mod lanes;
mod reads;
mod replays;

pub(super) use self::announcing::{Announcer, Outbox};
pub(super) use self::claims::ClaimEvents;
pub use self::claims::{Claim, Due, Payload, claim, find_due};
pub(super) use self::conclusions::ConcludeTries;
pub use self::conclusions::{Conclusion, conclude_all};
pub(super) use self::interruptions::{interrupt, interrupt_all};
pub(super) use self::lanes::lane_of;
pub use self::lanes::list_lanes;
pub use self::reads::{DeliveryRecord, EventFilter, EventRecord, find, list, list_deliveries};
pub use self::replays::{Replay, replay, replay_exhausted};

#[cfg(test)]
pub(super) use self::{
    claims::{FIND_DUE, TAKE, TAKE_ON_POSTGRES},
    conclusions::{CONCLUDE, NOTE},
    interruptions::{GIVE_BACK, ON_POSTGRES},
    lanes::LIST as LIST_LANES,
};

use overnight_domain::webhooks::EventKind;

use super::StoreError;

/// The state of an event, as it stands in `events.state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventState {
    /// It waits to be tried, or is being sent.
    Live,
    /// Its receiver took it.
    Delivered,
    /// It was given up.
    Exhausted,
}

impl EventState {
    const ALL: [Self; 3] = [Self::Live, Self::Delivered, Self::Exhausted];

    const fn code(self) -> i64 {
        match self {
            Self::Live => 0,
            Self::Delivered => 1,
            Self::Exhausted => 2,
        }
    }

    fn of(code: i64) -> Result<Self, StoreError> {
        let found = Self::ALL.into_iter().find(|state| state.code() == code);
        found.ok_or(StoreError::Damaged("an event's state"))
    }
}

/// The number of a kind: its place in the list of all.
const fn kind_code(kind: EventKind) -> i64 {
    match kind {
        EventKind::RequestCompleted => 0,
        EventKind::RequestFailed => 1,
        EventKind::RequestCancelled => 2,
        EventKind::BatchCompleted => 3,
        EventKind::BatchCancelled => 4,
    }
}

fn kind_of(code: i64) -> Result<EventKind, StoreError> {
    let found = EventKind::ALL.into_iter().find(|kind| kind_code(*kind) == code);
    found.ok_or(StoreError::Damaged("an event's kind"))
}
