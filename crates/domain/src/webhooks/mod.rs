//! Webhooks: which events there are, when they are tried again, how they are signed, and where they may lead.

pub mod addresses;
mod events;
mod schedule;
pub mod signature;

pub use events::{Event, EventKind, Subject};
pub use schedule::{Answer, Next, TIMEOUT_MS, TRIES_MAX, after};
