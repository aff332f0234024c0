//! The simulated engine, the deterministic simulation, and the benchmarks.

pub mod engine;
pub mod simulation;
