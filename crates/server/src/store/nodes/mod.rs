//! Nodes and what they share: engine replicas, hints, reports of what engines do, and what was used of their daily budgets.

pub mod engine_days;
pub mod engine_reports;
pub mod hints;
pub(super) mod lifecycle;
pub mod replicas;
pub mod statuses;

pub(super) use self::lifecycle::begin;
pub use self::lifecycle::{heartbeat, leave, reclaim_stale};
