//! Parquet: rows for templates, columns copied as they are stored, and columns of one's own. Without Arrow, which a copy of columns
//! does not need.

mod arrow;
mod copying;
mod fields;
mod rows;
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

/// Reads of a file what may be broken: the library panics over some of what is wrong with a page.
fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    let broken = |_| Err(ParquetError::General("its pages are broken".to_owned()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(broken)
}
