//! The dialect under `/exxa/v1`: the native paths with the records and spellings that the published clients of that service read. These
//! clients are strict, so a record has only the members that they know.

pub mod batches;
pub mod chat;
pub mod requests;
mod results;
pub mod states;
#[cfg(test)]
mod tests;
