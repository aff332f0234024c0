//! Tables in, tables out: CSV, Parquet and JSON Lines, also compressed, read row by row and written again with columns beside
//! their own. Memory holds a few rows and no table: text is read as it comes, of a Parquet file the pages at hand, and what is
//! written as Parquet waits for a group of rows of bounded size.
//!
//! It knows no other crate: what rows mean is its callers' business.

mod cells;
mod csv;
mod joining;
mod json_lines;
mod kinds;
mod parquet;
mod row;
mod rows;
mod shared;
mod streams;
mod templates;

pub use cells::{Column, ColumnType, Columns};
pub use joining::{Join, WriteError};
pub use kinds::{Compression, Format, Kind};
pub use row::{ROW_BYTES_MAX, Row, RowFault};
pub use rows::Rows;
pub use shared::{Cursor, SharedFile};
pub use streams::{Compressor, read_line, reader};
pub use templates::{Template, TemplateError};
