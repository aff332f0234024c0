//! A row of a table, and why there is none.

use std::io;
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

/// The longest row of a text, in bytes.
pub const ROW_BYTES_MAX: usize = 64 << 20;

/// A row.
#[derive(Debug, Clone)]
pub struct Row {
    /// The line that it begins in, from 1; of Parquet, which has no lines, its number.
    pub line: u64,
    /// Names and what stands there, each name once, in the order of the table.
    pub cells: Vec<(Arc<str>, Value)>,
    /// Of JSON Lines, its text without its end.
    pub(crate) text: Option<Vec<u8>>,
}

/// Why a row cannot be read. What is said goes on behind the name of the file.
#[derive(Debug, Error)]
pub enum RowFault {
    /// The file cannot be read, as a whole or any further.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// What is wrong in this line or row; there is no way to the next one.
    #[error("line {0} {1}")]
    Broken(u64, String),
    /// What is wrong in this line; the next one can be read.
    #[error("line {0} {1}")]
    Bad(u64, String),
}
