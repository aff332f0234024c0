//! The outbox of webhooks. An event is written in the transaction that ended its request or batch; it is then claimed,
//! tried and told of what came of it, until it is delivered or given up. A claim is at-least-once by design: it ends with
//! its result or with the death of its process, and every claim raises the event's number of tries.

pub(in crate::store) mod account_events;
pub(in crate::store) mod attempt_results;
pub(in crate::store) mod claims;
pub(in crate::store) mod interruptions;
pub(in crate::store) mod lanes;
pub(in crate::store) mod reads;
pub(in crate::store) mod replays;
pub(in crate::store) mod test_events;
pub mod webhook_secrets;

pub use self::attempt_results::{AttemptResult, record_attempt_results};
pub use self::claims::{Claim, Claimed, ClaimedEvents, Due, Payload, claim, find_due};
pub(in crate::store) use self::interruptions::{interrupt, interrupt_all};
pub(in crate::store) use self::lanes::lane_of;
pub use self::lanes::list_lanes;
pub use self::reads::{
    DeliveryCursor, DeliveryFilter, DeliveryRecord, EventFilter, EventRecord, WaitingEvents, count_exhausted,
    count_waiting, find, find_own, list, list_deliveries,
};
pub use self::replays::{Replay, replay, replay_exhausted};
pub use self::test_events::{NewTest, insert_test, insert_test_once};
pub use crate::store::event_states::EventState;

#[cfg(test)]
pub(in crate::store) use self::{
    attempt_results::{NOTE, RECORD},
    claims::{FIND_DUE, TAKE},
    interruptions::{ON_POSTGRES, RELEASE},
    lanes::LIST as LIST_LANES,
    reads::{FLOOR_OF_ACCOUNT, FLOOR_OF_ALL, OF_ACCOUNT, OF_ALL, TRIES_OF_ACCOUNT},
    test_events::LIVE_TEST,
};
