//! A row of a table, and why it cannot be read.

use std::io;
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

pub const ROW_BYTES_MAX: usize = 64 << 20;

#[derive(Debug, Clone)]
pub struct Row {
    /// Its first line, from 1; in Parquet, its number.
    pub line: u64,
    /// Unique names and their values, in the order of the table.
    pub cells: Vec<(Arc<str>, Value)>,
    /// In JSON Lines, its text without the line break.
    pub(crate) text: Option<Vec<u8>>,
}

/// Why a row cannot be read; `Display` continues after the file's name.
#[derive(Debug, Error)]
pub enum RowFault {
    /// The file cannot be read, or not any further.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// A fault in this line or row, after which reading stops.
    #[error("line {0} {1}")]
    Broken(u64, String),
    /// A fault in this line; the next one can be read.
    #[error("line {0} {1}")]
    Bad(u64, String),
}
