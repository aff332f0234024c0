//! What is done: the HTTP API, the durable queue, the scheduler and the engines.

pub mod app;
pub mod clock;
pub mod config;
mod console;
pub mod encryption;
pub mod engines;
pub mod file_owner;
pub mod http;
pub mod ids;
pub mod log_lines;
pub mod object_store;
pub mod openid;
pub mod paths;
pub mod payment;
mod planted_bugs;
mod postgres_url;
mod private_files;
pub mod scheduler;
mod secret_files;
mod secrets;
pub mod service;
mod spelling;
pub mod store;
pub mod supervision;
mod tasks;
mod telemetry;
pub mod traces;
mod transport;
mod turns;
pub mod webhooks;
pub mod workers;

/// Whether this build holds mistakes that tests must catch (`scripts/planted-bugs`). No program is made of one that does.
pub const HOLDS_PLANTED_BUGS: bool = cfg!(feature = "planted-bugs");
