//! The JSON shapes of the API and their conversions from the domain, one folder for each dialect.
//!
//! A native record has two definitions on purpose: a type, for clients and the reference, and a writer that appends the same text to a
//! buffer, for streams of millions of lines. Tests compare the two.

#![warn(missing_docs)]

pub mod anthropic;
pub mod exxa;
mod json;
pub mod native;
pub mod openai;
pub mod prompts;
