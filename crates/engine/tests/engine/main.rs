//! The real process with the built-in model over real sockets.

mod answers;
mod costs;
mod embeddings;
mod forms;
mod lifecycle;
mod models;
mod refusals;
mod repeating;
mod sharing;
mod support;
mod templates;
