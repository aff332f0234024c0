//! The simulated engine, the deterministic simulation, the benchmarks, and a PostgreSQL and a Stripe to test against.

pub mod bench;
pub mod engine;
pub mod postgres;
mod process;
pub mod simulation;
pub mod stripe;
