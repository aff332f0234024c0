//! The queue: requests enter it in key order, are scanned, leased and settled, and leave it when they end.

pub mod attempts;
pub mod counts;
pub mod deadlines;
pub(super) mod endings;
pub mod expiry;
pub mod leases;
pub mod outlook;
pub mod place;
pub(super) mod queue_scan;
pub mod releases;
pub(super) mod scan;
pub(super) mod segments;
pub mod settle;

pub use self::queue_scan::KeyRange;
pub use self::scan::{
    Prompt, backlogs, find_prompt, list_small_prompts, look, next_ready_at, waiting_partitions,
};
