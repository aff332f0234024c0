//! Writes records as lines, as an array, or as a table of answers.

use std::io::{self, Write};

use overnight_tables::{Column, Compressor, Join};

use super::unreadable;
use crate::errors::CliError;
use crate::tabling::Tabling;
use crate::target::{Target, Written};

pub(super) struct Writer<'a> {
    target: &'a Target,
    out: Out,
}

enum Out {
    Lines { out: Compressor<Written>, is_array: bool, is_begun: bool },
    Table { join: Box<Join<Written>>, tabling: Box<Tabling> },
}

impl<'a> Writer<'a> {
    /// Writes each record as a line or an element of an array.
    pub(super) fn lines(target: &'a Target, is_array: bool) -> Result<Self, CliError> {
        let out = target.create().and_then(|out| Compressor::new(out, target.kind.compression));
        let out = out.map_err(|error| target.failed(&error))?;
        Ok(Self { target, out: Out::Lines { out, is_array, is_begun: false } })
    }

    pub(super) fn table(
        target: &'a Target,
        columns: Vec<Column>,
        tabling: Tabling,
    ) -> Result<Self, CliError> {
        let out = target.create().map_err(|error| target.failed(&error))?;
        let join = Join::begin(out, target.kind, target.formulas, None, columns);
        let join = join.map_err(|error| target.unwritten(error))?;
        Ok(Self { target, out: Out::Table { join: Box::new(join), tabling: Box::new(tabling) } })
    }

    pub(super) fn put(&mut self, record: &[u8]) -> Result<(), CliError> {
        match &mut self.out {
            Out::Lines { out, is_array, is_begun } => {
                let before = match (*is_array, *is_begun) {
                    (true, false) => "[\n",
                    (true, true) => ",\n",
                    (false, false) => "",
                    (false, true) => "\n",
                };
                *is_begun = true;
                let written = out.write_all(before.as_bytes()).and_then(|()| out.write_all(record));
                written.map_err(|error| self.target.failed(&error))
            }
            Out::Table { join, tabling } => {
                let cells = tabling.cells(record).map_err(|error| unreadable(&error))?;
                join.push(cells).map_err(|error| self.target.unwritten(error))
            }
        }
    }

    /// Flushes written rows, unless the format writes rows in groups.
    pub(super) fn flush(&mut self) -> Result<(), CliError> {
        let flushed = match &mut self.out {
            Out::Lines { out, .. } => out.flush(),
            Out::Table { join, .. } => join.flush(),
        };
        flushed.map_err(|error| self.target.failed(&error))
    }

    pub(super) fn commit(self) -> Result<(), CliError> {
        let Self { target, out } = self;
        let written = match out {
            Out::Lines { mut out, is_array, is_begun } => {
                let last = match (is_array, is_begun) {
                    (_, false) => "",
                    (true, true) => "\n]\n",
                    (false, true) => "\n",
                };
                out.write_all(last.as_bytes())
                    .and_then(|()| out.finish())
                    .map_err(|error| target.failed(&error))
            }
            Out::Table { join, .. } => join.finish().map_err(|error| target.unwritten(error)),
        };
        written?.commit().map_err(|error: io::Error| target.failed(&error))
    }
}
