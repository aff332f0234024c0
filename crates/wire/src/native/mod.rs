//! The dialect under `/v1`: the service's own API.
//!
//! Times on the wire are integer Unix seconds. JSON that a client or an engine sent (`request_body`, `metadata`,
//! `result_body`) passes through as it is stored, as do `warnings`, and is never parsed here.

pub mod accounts;
pub mod administration;
pub mod batches;
pub mod bulk;
pub mod chat;
pub mod completions;
pub mod deletions;
pub mod embeddings;
pub mod errors;
pub mod events;
pub mod models;
pub mod requests;
pub mod results;
#[cfg(feature = "openapi")]
mod schemas;
mod states;
#[cfg(test)]
mod tests;
pub mod usage;
pub mod waiting;
pub mod warnings;
