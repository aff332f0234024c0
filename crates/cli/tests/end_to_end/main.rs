//! The program as its users run it: real processes, a real service, a simulated engine.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test's helper fails its test, and says what it skipped or did"
)]

mod alerts;
mod backups;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod chart;
mod clients;
mod command_line;
mod console;
mod counterparts;
mod crashes;
mod credits;
mod damage;
mod doctor;
mod embedded;
mod embedding_models;
#[cfg(target_os = "linux")]
mod encryption;
mod engines;
mod explanations;
mod faults;
mod file_modes;
#[cfg(target_os = "linux")]
mod image;
mod installations;
mod launcher;
mod lines;
mod listen;
mod logs;
mod metrics;
mod models;
mod moving;
mod object_store;
mod operators;
mod packages;
mod postgresql;
#[cfg(target_os = "linux")]
mod power_loss;
mod proxies;
mod published;
mod python;
mod readme;
mod reloading;
mod resuming;
mod runs;
mod serving;
mod support;
mod tables;
mod top;
mod traces;
mod users;
mod webhooks;
