//! Executes the scheduler's commands at the store and at the engines. All decisions are `overnight_domain`'s.

mod attempts;
pub mod commands;
mod fifo_savings;
mod gauges;
mod hours;
mod loads;
mod processes;
mod prompts;
mod replicas;
mod reports;
mod sharing;
mod shell;
mod spans;
mod subjects;
mod token_counters;
mod token_rates;
mod uses;

pub use gauges::clear_model as clear_model_gauges;
pub use replicas::Replicas;
pub use shell::{NAME, Shell};
