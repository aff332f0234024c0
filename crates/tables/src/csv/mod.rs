//! Comma-separated values, as RFC 4180 has them, and the same with tabs. A field in quotes may hold commas, quotes (doubled) and line
//! breaks. What breaks the rules is a fault, with its line: a quote that does not close would otherwise swallow the rows behind it.

mod parts;
mod reading;
mod writing;

pub(crate) use parts::Part;
pub(crate) use reading::{CsvReader, Fault};
pub(crate) use writing::write_record;
