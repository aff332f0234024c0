//! Decides what runs where and when. Pure: inputs and the time go in, actions come out.

mod door;

pub use door::*;
