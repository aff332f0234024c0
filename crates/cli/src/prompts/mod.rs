//! The input: a file of requests, one a line, or a table and a template that makes a request of each row. It is read more than once. First
//! all of it is checked; then one part at a time is kept as places and SHA-256 sums, and each line is read again when it is needed. So
//! memory holds no bodies, and at most one part of a file of any length.

mod asking;
mod faults;
mod guess;
mod input;
mod part;
mod source;
mod table;
mod texts;

pub(crate) use asking::{Asking, TableArguments};
pub(crate) use input::Input;
pub(crate) use overnight_wire::prompts::Shape;
pub(crate) use part::{Line, Prompts};
pub(crate) use source::Source;
pub(crate) use table::Table;

/// The lines of a part, and the maximum of requests in a batch if the service accepts as many.
pub(crate) const PART_LINES: usize = 100_000;

#[cfg(test)]
mod tests;
