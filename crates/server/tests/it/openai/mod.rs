//! The dialect under `/openai/v1` over a real socket.

mod chat;
mod endpoints;
mod errors;
mod models;
mod rates;
mod responses;
pub(crate) mod support;
mod waiting;
