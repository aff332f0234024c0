//! The dialect under `/anthropic/v1`: messages, message batches and models as Anthropic's clients send and read them.

mod answers;
pub mod batches;
mod blocks;
pub mod elements;
pub mod errors;
pub mod events;
pub mod lists;
mod messages;
pub mod models;
mod origins;
mod params;
mod parts;
mod path;
pub mod results;
mod review;
#[cfg(test)]
mod tests;
pub mod times;
mod tools;
mod turns;

pub use self::answers::Message;
pub use self::origins::Origins;
pub use self::params::{asks_for_stream, to_chat, to_chat_in_batch, to_native};
