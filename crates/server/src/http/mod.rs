//! The HTTP API. A handler is a sentence: extract, call one use case, answer.
//!
//! `router.rs` lists every route. Each dialect has its handlers in a folder, the native one in `native/`; so has the console. Every call passes `calls.rs`, which
//! names it, lets it in, and gives every refusal its one shape.

mod accept;
mod activity;
mod addresses;
mod answers;
mod anthropic;
mod bodies;
mod bulk;
mod calls;
mod connections;
mod console;
mod context;
mod counters;
mod creation;
mod dialects;
mod docs;
mod errors;
mod extract;
mod exxa;
mod feeds;
mod following;
mod health;
mod held_requests;
mod idempotency;
mod json_lines;
mod metrics;
mod native;
mod openai;
mod openapi;
mod pages;
mod payments;
mod percent;
mod permits;
mod queries;
mod root;
mod router;
mod sending;
mod serve;
mod shares;
mod tls;
mod waiting;
mod waiting_calls;
mod waiting_streams;
mod wrong_keys;

pub use self::context::Timeouts;
pub use self::openapi::OPENAPI_JSON;
pub use self::router::router;
pub use self::serve::{Listeners, serve, serve_with};
pub use self::tls::{Certificate, Tls, TlsUnusable};
