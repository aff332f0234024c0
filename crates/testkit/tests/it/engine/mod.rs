//! The simulated engine over real sockets.

mod answers;
mod behaviours;
mod client;
mod deaths;
mod faults;
mod limits;
