//! The dialect under `/openai/v1`: the shapes that OpenAI's clients send and read.

pub mod errors;
