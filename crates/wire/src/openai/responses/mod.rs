//! Responses: a call becomes a chat completion, which is queued; any request can be read as a response.

mod body;
mod config;
mod content;
mod events;
mod input;
mod items;
mod object;
mod output;
#[cfg(test)]
mod tests;

pub use self::body::{ChatCall, Delivery, chat_call, to_native};
pub use self::events::{write_ending, write_error, write_opening};
pub use self::items::{ItemsPage, write_input_items};
pub use self::object::{write_deleted, write_response};
