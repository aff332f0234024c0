//! Why a move was not made.

use std::io;

use thiserror::Error;

use crate::store::StoreError;
use crate::store::database::migrations::EXPORTED_MIN;

#[derive(Debug, Error)]
pub enum ExportError {
    /// The file takes no more.
    #[error("the file cannot be written: {0}")]
    Write(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why nothing was imported: the store is as it was.
#[derive(Debug, Error)]
pub enum ImportError {
    #[error("the file cannot be read: {0}")]
    Read(#[from] io::Error),
    /// It is not what `overnight export` writes.
    #[error("line {line}: {what}; nothing was imported")]
    Line {
        /// The line that is at fault, counted from 1.
        line: u64,
        what: String,
    },
    /// It ends before its last line.
    #[error("the file was cut off at line {line}: nothing was imported")]
    Cut {
        /// The line that is missing, or has no end.
        line: u64,
    },
    /// It is not as it was written.
    #[error(
        "the file is not as it was written, its {what} differs from what its last line says: nothing was imported"
    )]
    Changed { what: &'static str },
    /// It was written by a program that keeps other things.
    #[error(
        "the file has schema {found}, and this program imports {} to {known}: export with a program of one of these",
        EXPORTED_MIN
    )]
    OtherSchema { found: i64, known: i64 },
    /// Somebody's work is there already.
    #[error("there are {table} in this store already: only an empty store takes an import")]
    NotEmpty { table: &'static str },
    /// A service works on this database, or did a moment ago.
    #[error("{node} serves this database, or was killed less than a minute ago: stop it, and import then")]
    Served { node: String },
    /// What must always hold would not.
    #[error("the rows break what must hold ({rule}: {breaches} times): nothing was imported")]
    Unsound {
        rule: &'static str,
        /// How many rows break it.
        breaches: i64,
    },
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}
