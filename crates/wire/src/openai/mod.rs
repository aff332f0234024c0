//! The dialect under `/openai/v1`: the shapes that OpenAI's SDKs read.

pub mod batches;
pub mod files;
pub mod outputs;
