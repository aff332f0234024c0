//! What is said: the JSON shapes of the API and their conversions from the domain.
//!
//! One folder for each dialect. A record of the native one is told twice on purpose: as a type that clients read and the
//! reference is drawn from, and as a writer that appends the same text to a buffer, for streams of millions of lines. The
//! tests hold the two together.

#![warn(missing_docs)]

pub mod anthropic;
pub mod exxa;
mod json;
pub mod native;
pub mod openai;
pub mod prompts;
