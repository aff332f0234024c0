//! The simulated engine, the deterministic simulation, the benchmarks, and a PostgreSQL, a Stripe, an OpenID
//! provider and a receiver of webhooks to test against.

pub mod bench;
pub mod engine;
pub mod openid;
pub mod postgres;
mod process;
pub mod receiver;
pub mod simulation;
pub mod stripe;
