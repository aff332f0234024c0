//! The scheduler, which leases and settles requests, and the periodic workers.

pub mod scheduler;
pub mod workers;
