//! What is done: the HTTP API, the durable queue, the scheduler and the engines.

pub mod app;
pub mod config;
mod console;
pub mod engines;
pub mod http;
pub mod object_store;
pub mod openid;
pub mod payment;
pub mod scheduler;
pub mod service;
pub mod store;
pub mod traces;
mod transport;
pub mod webhooks;
pub mod workers;

/// Whether this build holds mistakes that tests must catch (`scripts/planted-bugs`). No program is made of one that does.
pub const HOLDS_PLANTED_BUGS: bool = cfg!(feature = "planted-bugs");
