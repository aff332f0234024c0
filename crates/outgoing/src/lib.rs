//! Calls to the services of others: payment, sign-in, webhooks and traces, and the connections that they share with engines.

pub mod openid;
pub mod payment;
pub mod traces;
pub mod transport;
pub mod webhooks;
