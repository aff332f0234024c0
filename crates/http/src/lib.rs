//! The HTTP API. Handlers extract, call one use case, and answer.
//!
//! `router.rs` lists every route. Each dialect has its handlers in a folder, the native one in `native/`. Every call
//! passes `calls.rs`, which names it, authenticates it, and gives errors their one form. The console uses the public modules.

mod accept;
mod activity;
pub mod answers;
mod anthropic;
pub mod bodies;
mod bulk;
pub mod calls;
mod connections;
pub mod context;
mod counters;
mod creation;
mod dialects;
mod docs;
pub mod errors;
mod extract;
mod exxa;
mod feeds;
mod following;
mod health;
mod held_requests;
pub mod hosts;
mod idempotency;
pub mod json_lines;
mod metrics;
mod native;
mod openai;
mod openapi;
mod pages;
mod payments;
mod permits;
mod queries;
mod root;
mod router;
mod sending;
mod serve;
mod shares;
mod single_headers;
mod tls;
mod waiting;
mod waiting_calls;
mod waiting_streams;
mod wrong_keys;

pub use self::context::Timeouts;
pub use self::openapi::OPENAPI_JSON;
pub use self::router::{Pages, router};
pub use self::serve::{Listeners, serve, serve_with};
pub use self::tls::{Certificate, Tls, TlsUnusable};
