//! The rules: types, state machines, sort key, sweep order, forecasts, prices, activity, quotas, roles, webhooks. No I/O, no async, no clock.

#![warn(missing_docs)]

pub mod activity;
pub mod answers;
pub mod api_keys;
pub mod audit_log;
pub mod batches;
pub mod bodies;
pub mod chat;
pub mod completions;
pub mod embeddings;
pub mod endpoint_rules;
pub mod endpoints;
pub mod faults;
pub mod fifo_baseline;
pub mod files;
pub mod forecast;
pub mod forms;
pub mod ids;
pub mod json;
pub mod limits;
pub mod line_digests;
pub mod money;
pub mod pieces;
pub mod quotas;
pub mod records;
pub mod requests;
pub mod roles;
pub mod scheduler;
pub mod sort_key;
pub mod text;
pub mod token_buckets;
pub mod traces;
pub mod uploads;
pub mod webhooks;
