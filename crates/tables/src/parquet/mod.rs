//! Parquet: rows for templates, columns copied as they are stored, and added columns. Copying columns does not need Arrow.

mod arrow;
mod copying;
mod fields;
mod levels;
mod pages;
mod rows;
mod texts;
mod writing;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ::parquet::errors::{ParquetError, Result};

pub(crate) use rows::ParquetRows;
pub(crate) use writing::GroupedWriter;

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner),
        },
        error => io::Error::other(error),
    }
}

/// Runs `read` on a file that may be broken: the library panics at some faults of a page.
fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    let broken = |_| Err(ParquetError::General("its pages are broken".to_owned()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(broken)
}

#[cfg(test)]
mod tests;
