//! The dialect under `/v1`: the service's own API, and what its reference is drawn from.

pub(super) mod accounts;
pub(super) mod batches;
mod lines;
pub(super) mod models;
mod refusals;
pub(super) mod requests;
