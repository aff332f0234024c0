//! The outbox of webhooks. An event is written in the transaction that ended its request or batch; it is then claimed,
//! tried and told of what came of it, until it is delivered or given up. A claim is at-least-once by design: it ends with
//! its conclusion or with the death of its process, and every claim raises the event's number of tries.

pub(in crate::store) mod claims;
pub(in crate::store) mod conclusions;
pub(in crate::store) mod interruptions;
pub(in crate::store) mod lanes;
pub(in crate::store) mod probes;
pub(in crate::store) mod reads;
pub(in crate::store) mod replays;
pub mod webhook_secrets;

pub use self::claims::{Claim, Claimed, ClaimedEvents, Due, Payload, claim, find_due};
pub use self::conclusions::{Conclusion, conclude_all};
pub(in crate::store) use self::interruptions::{interrupt, interrupt_all};
pub(in crate::store) use self::lanes::lane_of;
pub use self::lanes::list_lanes;
pub use self::probes::{NewTest, insert_test};
pub use self::reads::{
    DeliveryFilter, DeliveryRecord, EventFilter, EventRecord, TryPlace, count_exhausted, find, find_own,
    list, list_deliveries,
};
pub use self::replays::{Replay, replay, replay_exhausted};
pub use crate::store::event_states::EventState;

#[cfg(test)]
pub(in crate::store) use self::{
    claims::{FIND_DUE, TAKE},
    conclusions::{CONCLUDE, NOTE},
    interruptions::{GIVE_BACK, ON_POSTGRES},
    lanes::LIST as LIST_LANES,
    probes::LIVE_TEST,
    reads::{OF_ACCOUNT, TRIES_OF_ACCOUNT},
};
