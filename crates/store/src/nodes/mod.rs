//! Nodes share state through rows: engine replicas, reports of engines, use of daily budgets. A node's row has a heartbeat, by the
//! database's clock, which renews all of its leases. Peers remove a node whose heartbeat is older than nine tenths of a lease and release
//! its requests and engine replicas. One node drives a replica at a time, and nodes drive about the same number each. The segments of a
//! queue partition are rows with cursors: a scan takes the next run of its replica's segment. Nodes poll the shared state each second;
//! NOTIFY is a hint to poll now. Deficits are kept per node: each node is fair to every account, so all of them together are.

pub mod engine_days;
pub mod engine_reports;
pub mod hints;
pub(super) mod lifecycle;
pub mod replicas;
pub mod statuses;

pub(super) use self::lifecycle::begin;
pub use self::lifecycle::{heartbeat, leave, reclaim_stale};
