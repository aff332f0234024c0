//! Rows written again with further cells, in any format.

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

use crate::cells::{Column, Columns, text_of};
use crate::csv::{Formulas, delimiter, writer};
use crate::json_lines::write_with;
use crate::kinds::{Format, Kind};
use crate::parquet::GroupedWriter;
use crate::row::RowFault;
use crate::rows::Rows;
use crate::shared::SharedFile;
use crate::streams::Compressor;

/// Why a row is not written.
#[derive(Debug, Error)]
pub enum WriteError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The source's row cannot be read (again).
    #[error("a table that was whole before {0}")]
    Row(#[from] RowFault),
    /// The source has no further row.
    #[error("a table has fewer rows than before")]
    Missing,
}

/// A written table: each row is a row of `source`, if there is one, followed by further cells.
pub struct Join<W: Write + Send> {
    rows: Option<Rows>,
    columns: Columns,
    added: Vec<Column>,
    out: Out<W>,
}

enum Out<W: Write + Send> {
    Csv(csv::Writer<Compressor<W>>, Formulas),
    JsonLines(Compressor<W>),
    /// Columns are copied as they are stored: rows are not read.
    Copied(GroupedWriter<W>),
    Parquet(GroupedWriter<W>),
}

impl<W: Write + Send> Join<W> {
    /// Begins a table in `out`. `columns` are those of the source, as read before; the names of `added` are unique.
    pub fn begin(
        out: W,
        kind: Kind,
        formulas: Formulas,
        source: Option<(&SharedFile, Kind, &Columns)>,
        added: Vec<Column>,
    ) -> Result<Self, WriteError> {
        let columns = source.map_or_else(Columns::default, |(_, _, columns)| columns.clone());
        let is_copied = kind.format == Format::Parquet
            && source.is_some_and(|(_, source, _)| source.format == Format::Parquet);
        let rows = match source {
            Some((file, kind, _)) if !is_copied => Some(Rows::open(file, kind)?),
            _ => None,
        };
        let all = || columns.list().iter().chain(&added);
        let out = match kind.format {
            Format::Csv | Format::Tsv => {
                let mut out = writer(Compressor::new(out, kind.compression)?, delimiter(kind.format));
                let names = all().map(|column| formulas.write(column.name.to_string()));
                out.write_record(names).map_err(io::Error::from)?;
                Out::Csv(out, formulas)
            }
            Format::JsonLines => Out::JsonLines(Compressor::new(out, kind.compression)?),
            Format::Parquet if is_copied => {
                Out::Copied(GroupedWriter::new(out, source.map(|(file, _, _)| file), added.clone())?)
            }
            Format::Parquet => Out::Parquet(GroupedWriter::new(out, None, all().cloned().collect())?),
        };
        Ok(Self { rows, columns, added, out })
    }

    /// Writes the next row of the source with these cells, in the order of the added columns.
    pub fn push(&mut self, own: Vec<Value>) -> Result<(), WriteError> {
        let row = match &mut self.rows {
            Some(rows) => Some(rows.next().ok_or(WriteError::Missing)??),
            None => None,
        };
        let (cells, text) = row.map_or((Vec::new(), None), |row| (row.cells, row.text));
        match &mut self.out {
            Out::Copied(out) => out.push(own)?,
            Out::Parquet(out) => {
                let mut all = self.columns.arrange(cells);
                all.extend(own);
                out.push(all)?;
            }
            Out::Csv(out, formulas) => {
                let all = self.columns.arrange(cells).into_iter().chain(own);
                let all = all.map(|cell| formulas.write(text_of(&cell)));
                out.write_record(all).map_err(io::Error::from)?;
            }
            Out::JsonLines(out) => {
                let own = self.added.iter().map(|column| Arc::clone(&column.name)).zip(own);
                match text {
                    Some(text) => write_with(out, &text, own)?,
                    None => write_with(out, b"{}", cells.into_iter().chain(own))?,
                }
            }
        }
        Ok(())
    }

    /// Flushes complete rows; rows of Parquet wait for their group.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::Csv(out, _) => out.flush(),
            Out::JsonLines(out) => out.flush(),
            Out::Copied(_) | Out::Parquet(_) => Ok(()),
        }
    }

    /// Ends the table, and returns `out`.
    pub fn finish(self) -> Result<W, WriteError> {
        Ok(match self.out {
            Out::Csv(out, _) => out.into_inner().map_err(|error| error.into_error())?.finish()?,
            Out::JsonLines(out) => out.finish()?,
            Out::Copied(out) | Out::Parquet(out) => out.finish()?,
        })
    }
}

#[cfg(test)]
mod tests;
