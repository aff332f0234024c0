//! Webhooks: their events, retries, signatures, allowed destinations and concurrency.

pub mod addresses;
mod events;
mod lanes;
mod schedule;
pub mod signature;
pub mod urls;

pub use events::{AccountCredits, Event, EventKind, Subject};
pub use lanes::{DeliveryLane, Room, TRIES_AT_ONCE};
pub use schedule::{Answer, Next, TIMEOUT_MS, after};
