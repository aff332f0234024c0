//! Nodes and what they share: engine replicas, hints, and reports of what engines do.

pub mod engine_reports;
pub mod hints;
pub(super) mod lifecycle;
pub mod replicas;

pub(super) use self::lifecycle::begin;
pub use self::lifecycle::{heartbeat, leave, reclaim_stale};
