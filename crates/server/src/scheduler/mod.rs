//! The scheduler's hands: what it asks of the store and of the engines is done here. All decisions are
//! `overnight_domain`'s.

mod attempts;
pub mod commands;
mod prompts;
mod replicas;
mod reports;
mod settler;
mod sharing;
mod shell;

pub use replicas::Replicas;
pub use shell::Shell;
