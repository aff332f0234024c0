//! The simulated engine over real sockets.

mod answers;
mod client;
mod deaths;
mod faults;
mod limits;
