//! What the service is tested and measured against: a simulated engine, a PostgreSQL, a Stripe, an OpenID provider, a Hub of models, a
//! receiver of webhooks and a collector of traces, each at the far side of a real socket. None of them knows the service.

pub mod engine;
pub mod hub;
pub mod openid;
pub mod postgres;
pub mod proof;
pub mod receiver;
pub mod schema;
pub mod stripe;
mod time;
pub mod traces;
