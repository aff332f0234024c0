//! Counterparts for tests and measurements: a simulated engine, a PostgreSQL, a Stripe, an OpenID provider, a Hub of models, a receiver of
//! webhooks and a collector of traces, each on a real socket. None of them depends on the service.

pub mod engine;
pub mod hub;
pub mod openid;
pub mod postgres;
pub mod proof;
pub mod receiver;
pub mod schema;
mod stand;
pub mod stripe;
mod time;
pub mod traces;
