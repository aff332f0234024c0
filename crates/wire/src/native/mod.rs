//! The dialect under `/v1`: the service's own API.
//!
//! Times are integer Unix seconds. Stored JSON (`request_body`, `metadata`, `result_body`, `warnings`) passes through unchanged and is
//! never parsed here.

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
