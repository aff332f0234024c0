//! What is done: the HTTP API, the durable queue, the scheduler and the engines.

pub mod clock;
pub mod ids;
pub mod store;
