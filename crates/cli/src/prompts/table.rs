//! A table without a template.

use overnight_tables::{Columns, RowFault, Rows};

use super::faults::Faults;
use super::guess::advice;
use super::source::Source;
use crate::errors::CliError;

const HINT: &str = "a row has a value for each column";

/// A table that was read to its end once.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) source: Source,
    pub(crate) columns: Columns,
    pub(crate) rows: usize,
}

impl Table {
    /// Reads all rows. Fails if the file is unreadable, or lists all its bad rows.
    pub(crate) fn check(source: Source) -> Result<Self, CliError> {
        let told = |fault: RowFault| match fault {
            RowFault::Unreadable(error) => source.failed(&error),
            fault => CliError::unusable(format!("{}: {fault}", source.name())),
        };
        let rows = Rows::open(&source.file, source.kind).map_err(told)?;
        let names = rows.names().into_iter().flatten().cloned();
        let mut columns = Columns::named(names).map_err(CliError::unusable)?;
        let (mut faults, mut count) = (Faults::default(), 0);
        for row in rows {
            match row.and_then(|row| columns.see(&row).map_err(|words| RowFault::Bad(row.line, words))) {
                Ok(()) => count += 1,
                Err(RowFault::Broken(line, words) | RowFault::Bad(line, words)) => faults.push(line, &words),
                Err(fault) => return Err(told(fault)),
            }
        }
        let hint = || advice(&source, true).unwrap_or_else(|| HINT.to_owned());
        faults.check(source.name(), "nothing was written", hint)?;
        Ok(Self { source, columns, rows: count })
    }
}
