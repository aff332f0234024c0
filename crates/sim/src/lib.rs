//! The simulated engine, the deterministic simulation, and the benchmarks.

pub mod bench;
pub mod engine;
pub mod simulation;
