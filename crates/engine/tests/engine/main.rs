//! The real process with the model in the box, over real sockets.

mod answers;
mod embeddings;
mod forms;
mod lifecycle;
mod refusals;
mod repeating;
mod sharing;
mod support;
