//! Lists: a table for people, an array or JSON Lines for machines, printed row by row.

use std::io::{self, BufWriter, StdoutLock, Write};

use overnight_domain::text;
use serde::Serialize;

use crate::errors::CliError;
use crate::output::Output;

/// Heading and width of each column. The last one takes the width that it needs.
pub(crate) type Columns = &'static [(&'static str, usize)];

pub(crate) struct List {
    columns: Columns,
    is_json: bool,
    /// Whether machines get a line for each row instead of an array.
    is_lines: bool,
    rows: usize,
    out: BufWriter<StdoutLock<'static>>,
}

impl List {
    pub(crate) fn begin(output: &Output, columns: Columns) -> Self {
        let out = BufWriter::new(io::stdout().lock());
        Self { columns, is_json: output.is_json, is_lines: false, rows: 0, out }
    }

    /// Begins a list that may be long: machines get JSON Lines.
    pub(crate) fn begin_lines(output: &Output, columns: Columns) -> Self {
        Self { is_lines: true, ..Self::begin(output, columns) }
    }

    /// Prints a row: `record` for machines, `cells` for people.
    pub(crate) fn row(&mut self, record: &impl Serialize, cells: &[&str]) -> Result<(), CliError> {
        self.write_row(record, cells).map_err(|error| CliError::stdout(&error))
    }

    /// Ends the list, and returns its number of rows.
    pub(crate) fn end(mut self) -> Result<usize, CliError> {
        let closed = match (self.is_json, self.rows) {
            (false, _) => Ok(()),
            (true, _) if self.is_lines => Ok(()),
            (true, 0) => writeln!(self.out, "[]"),
            (true, _) => writeln!(self.out, "\n]"),
        };
        closed.and_then(|()| self.out.flush()).map_err(|error| CliError::stdout(&error))?;
        Ok(self.rows)
    }

    fn write_row(&mut self, record: &impl Serialize, cells: &[&str]) -> io::Result<()> {
        if self.is_json && self.is_lines {
            writeln!(self.out, "{}", json(record)?)?;
        } else if self.is_json {
            write!(self.out, "{}{}", if self.rows == 0 { "[\n" } else { ",\n" }, json(record)?)?;
        } else {
            if self.rows == 0 {
                let headings: Vec<&str> = self.columns.iter().map(|(heading, _)| *heading).collect();
                self.write_cells(&headings)?;
            }
            self.write_cells(cells)?;
        }
        self.rows += 1;
        Ok(())
    }

    fn write_cells(&mut self, cells: &[&str]) -> io::Result<()> {
        writeln!(self.out, "{}", line(cells, self.columns))
    }
}

/// A record on one line, which is safe on a terminal.
fn json(record: &impl Serialize) -> io::Result<String> {
    Ok(text::safe_lines(&serde_json::to_string(record)?, false).into_owned())
}

/// A row in a form that is safe on a terminal, whoever wrote the cells.
fn line(cells: &[&str], columns: Columns) -> String {
    let mut line = String::new();
    for (cell, (_, width)) in cells.iter().zip(columns) {
        line.push_str(&format!("{:width$}  ", text::escaped(cell)));
    }
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_mislead_in_a_cell_is_shown_as_an_escape() {
        let cells = ["\u{202e}live", "a\u{1b}[2Jb", "plain"];
        assert_eq!(line(&cells, &[("A", 14), ("B", 3), ("C", 9)]), "\\u{202e}live    a\\u{1b}[2Jb  plain");
    }
}
