//! The texts of requests in order: the lines of a file, or requests made of the rows of a table.

use std::io::{self, BufRead};
use std::ops::Range;

use overnight_client::LINE_BYTES_MAX;
use overnight_tables::{Columns, RowFault, Rows, read_line, reader};

use super::asking::Asking;
use super::source::Source;

pub(super) struct Text {
    /// The line in the file or the number of the row, from 1.
    pub(super) line: u64,
    pub(super) bytes: Vec<u8>,
    /// The offset in the file, if the text is there unchanged.
    pub(super) offset: u64,
}

/// Why there is no text.
pub(super) enum TextFault {
    File(io::Error),
    /// A fault of a line; the caller may read on.
    Line(u64, String),
}

pub(super) enum Texts<'a> {
    Lines(Lines),
    Rows(Rendered<'a>),
}

impl<'a> Texts<'a> {
    pub(super) fn open(source: &Source, asking: Option<&'a Asking>) -> Result<Self, TextFault> {
        match asking {
            None => {
                let input = reader(source.file.cursor(), source.kind.compression).map_err(TextFault::File)?;
                Ok(Self::Lines(Lines { input, number: 0, offset: 0, blank: 0..0, held: None }))
            }
            Some(asking) => {
                let rows = Rows::open(&source.file, source.kind)?;
                Ok(Self::Rows(Rendered { rows, asking, number: 0 }))
            }
        }
    }

    /// The next text; `columns` records the row that it is made of.
    pub(super) fn next(&mut self, columns: Option<&mut Columns>) -> Option<Result<Text, TextFault>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Rows(rows) => rows.next(columns),
        }
    }
}

/// Lines of a file. Trailing empty lines are ignored.
pub(super) struct Lines {
    input: Box<dyn BufRead>,
    number: u64,
    offset: u64,
    /// Empty lines that are not yet followed by another, or are being reported.
    blank: Range<u64>,
    /// The line after them.
    held: Option<Text>,
}

impl Lines {
    fn next(&mut self) -> Option<Result<Text, TextFault>> {
        loop {
            if self.held.is_some() {
                return match self.blank.next() {
                    Some(number) => Some(Err(TextFault::Line(number, "is empty".to_owned()))),
                    None => self.held.take().map(Ok),
                };
            }
            let mut bytes = Vec::new();
            let read = match read_line(&mut *self.input, &mut bytes, LINE_BYTES_MAX) {
                Ok(0) => return None,
                Ok(read) => read,
                Err(error) => return Some(Err(TextFault::File(error))),
            };
            self.number += 1;
            let offset = self.offset;
            self.offset += read as u64;
            if bytes.trim_ascii().is_empty() {
                let begins = if self.blank.is_empty() { self.number } else { self.blank.start };
                self.blank = begins..self.number + 1;
            } else {
                self.held = Some(Text { line: self.number, bytes, offset });
            }
        }
    }
}

pub(super) struct Rendered<'a> {
    rows: Rows,
    asking: &'a Asking,
    number: usize,
}

impl Rendered<'_> {
    fn next(&mut self, columns: Option<&mut Columns>) -> Option<Result<Text, TextFault>> {
        let row = match self.rows.next()? {
            Ok(row) => row,
            Err(fault) => return Some(Err(fault.into())),
        };
        self.number += 1;
        let line = row.line;
        let seen = columns.map_or(Ok(()), |columns| columns.see(&row));
        let made = seen.and_then(|()| self.asking.create_body(&row, self.number));
        Some(made.map(|bytes| Text { line, bytes, offset: 0 }).map_err(|words| TextFault::Line(line, words)))
    }
}

impl From<RowFault> for TextFault {
    fn from(fault: RowFault) -> Self {
        match fault {
            RowFault::Unreadable(error) => Self::File(error),
            RowFault::Broken(line, words) | RowFault::Bad(line, words) => Self::Line(line, words),
        }
    }
}
