//! Tables in, tables out: CSV, Parquet and JSON Lines, also compressed, read row by row and written again with further columns. Memory
//! holds a few rows, never a table: text is streamed, of a Parquet file only the current pages are read, and written Parquet waits for a
//! row group of bounded size.
//!
//! It knows no other crate: its callers interpret the rows.

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
pub use csv::Formulas;
pub use joining::{Join, WriteError};
pub use kinds::{Compression, Format, Kind};
pub use row::{ROW_BYTES_MAX, Row, RowFault};
pub use rows::Rows;
pub use shared::{Cursor, SharedFile};
pub use streams::{Compressor, read_line, reader};
pub use templates::{Template, TemplateError};
