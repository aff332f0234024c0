//! The dialect under `/openai/v1` over a real socket.

mod chat;
mod errors;
mod models;
mod responses;
pub(crate) mod support;
mod waiting;
