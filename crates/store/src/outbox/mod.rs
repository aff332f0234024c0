//! The outbox of webhooks. An event is written in the transaction that ended its request or batch; it is then claimed, tried and updated,
//! until it is delivered or given up. Claims are at-least-once by design: one ends with its result or with the death of its process, and
//! every claim raises the event's number of tries.

pub(crate) mod account_events;
pub(crate) mod attempt_results;
pub(crate) mod claims;
pub(crate) mod deletion;
pub(crate) mod interruptions;
pub(crate) mod lanes;
pub(crate) mod reads;
pub(crate) mod replays;
pub(crate) mod test_events;
pub mod webhook_secrets;

pub use self::attempt_results::{AttemptResult, record_attempt_results};
pub use self::claims::{Claim, Claimed, ClaimedEvents, Due, Payload, claim, find_due};
pub(crate) use self::interruptions::{interrupt, interrupt_all};
pub(crate) use self::lanes::lane_of;
pub use self::lanes::list_lanes;
pub use self::reads::{
    DeliveryCursor, DeliveryFilter, DeliveryRecord, EventFilter, EventRecord, WaitingEvents, count_exhausted,
    count_waiting, find, find_own, list, list_deliveries,
};
pub use self::replays::{Replay, replay, replay_exhausted};
pub use self::test_events::{NewTest, insert_test, insert_test_once};
pub use crate::event_states::EventState;

#[cfg(test)]
pub(crate) use self::{
    attempt_results::{NOTE, RECORD},
    claims::{FIND_DUE, TAKE},
    interruptions::{ON_POSTGRES, RELEASE},
    lanes::LIST as LIST_LANES,
    reads::{FLOOR_OF_ACCOUNT, FLOOR_OF_ALL, OF_ACCOUNT, OF_ALL, TRIES_OF_ACCOUNT},
    test_events::LIVE_TEST,
};
