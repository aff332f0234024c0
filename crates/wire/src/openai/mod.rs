//! The dialect under `/openai/v1`: the shapes that OpenAI's clients send and read.

pub mod batches;
pub mod chat;
pub mod completions;
pub mod embeddings;
pub mod errors;
pub mod events;
pub mod files;
pub mod outputs;
pub mod responses;
#[cfg(test)]
mod tests;
pub mod uploads;
