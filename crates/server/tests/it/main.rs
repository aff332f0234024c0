#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and fakes write as programs do"
)]

mod anthropic;
mod api;
mod browsing;
mod console;
mod dispatch;
mod engines;
mod openai;
mod payments;
mod submissions;
mod support;
mod tenants;
mod told;
mod webhooks;
