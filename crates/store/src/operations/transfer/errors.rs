//! Why a move failed.

use std::io;

use thiserror::Error;

use crate::StoreError;
use crate::database::migrations::EXPORTED_MIN;

#[derive(Debug, Error)]
pub enum ExportError {
    #[error("the file cannot be written: {0}")]
    Write(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The store is unchanged.
#[derive(Debug, Error)]
pub enum ImportError {
    #[error("the file cannot be read: {0}")]
    Read(#[from] io::Error),
    /// Not a line of `overnight export`.
    #[error("line {line}: {what}; nothing was imported")]
    Line {
        /// From 1.
        line: u64,
        what: String,
    },
    /// It ends before its last line.
    #[error("the file was cut off at line {line}: nothing was imported")]
    Cut {
        /// Missing, or without an end.
        line: u64,
    },
    #[error(
        "the file is not as it was written, its {what} differs from what its last line says: nothing was imported"
    )]
    Changed { what: &'static str },
    /// A program with another schema wrote it.
    #[error(
        "the file has schema {found}, and this program imports {} to {known}: export with a program of one of these",
        EXPORTED_MIN
    )]
    OtherSchema { found: i64, known: i64 },
    #[error("there are {table} in this store already: only an empty store takes an import")]
    NotEmpty { table: &'static str },
    /// A service uses this database, or did a moment ago.
    #[error("{node} serves this database, or was killed less than a minute ago: stop it, and import then")]
    Served { node: String },
    /// Rules would be broken.
    #[error("the rows break what must hold ({rule}: {breaches} times): nothing was imported")]
    Unsound {
        rule: &'static str,
        /// Rows that break it.
        breaches: i64,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}
