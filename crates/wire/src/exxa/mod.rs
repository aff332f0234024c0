//! The dialect under `/exxa/v1`: the paths of the native one with the records and the spellings that clients published for that
//! service read. Those clients are strict, so a record has the members they know and no other.

pub mod batches;
pub mod chat;
pub mod requests;
mod results;
pub mod states;
#[cfg(test)]
mod tests;
