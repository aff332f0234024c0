//! llama.cpp behind OpenAI's HTTP API, for one machine: continuous batching, and every shared prefix computed once.
//!
//! `http` takes requests in and turns them into jobs (`api`, `template`); the one thread of `worker` runs the `scheduler`, which keeps a
//! `cache` over a decoder, or `embeddings` for a model whose answers are vectors. Only `llama` knows llama.cpp; everything else is tested
//! without it.

pub mod api;
pub mod args;
pub mod attention;
pub mod cache;
pub mod chance;
pub mod clock;
pub mod constraint;
pub mod cpu;
pub mod embeddings;
#[cfg(test)]
mod fake;
pub mod http;
pub mod limited;
pub mod llama;
pub mod logging;
pub mod memory;
pub mod metrics;
pub mod model;
pub mod parent;
pub mod sampling;
pub mod scheduler;
pub mod serve;
pub mod template;
pub mod text;
pub mod turns;
pub mod worker;
