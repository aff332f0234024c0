//! Records of a CSV file, one after the other.

use std::io::{self, BufRead};

use super::parts::Part;
use crate::row::ROW_BYTES_MAX;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Why a record cannot be read.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The file cannot be read.
    Io(io::Error),
    /// What is wrong from this line on, in words that go on behind "line 7". Where records end is not known any more.
    Broken(u64, String),
    /// What is wrong with the record that begins in this line. The next one can be read.
    Bad(u64, String),
}

/// Where a field is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Begins,
    Plain,
    Quoted,
    /// Behind a quote in a quoted field: its end, or the first of two.
    Closed,
}

/// Reads records.
pub(crate) struct CsvReader {
    input: Box<dyn BufRead>,
    part: Part,
    /// The line that is read next, from 1.
    line: u64,
    field: Vec<u8>,
    has_begun: bool,
}

/// The record that is being read.
struct Record<'a> {
    fields: &'a mut Vec<String>,
    bytes: usize,
    is_text: bool,
}

impl CsvReader {
    pub(crate) fn new(input: Box<dyn BufRead>, part: Part) -> Self {
        Self { input, part, line: 1, field: Vec::new(), has_begun: false }
    }

    /// Reads the next record into `fields`; the line that it begins in, or `None` at the end. Blank lines are no records.
    pub(crate) fn read(&mut self, fields: &mut Vec<String>) -> Result<Option<u64>, Fault> {
        if !self.has_begun {
            self.has_begun = true;
            if self.input.fill_buf().map_err(Fault::Io)?.starts_with(BYTE_ORDER_MARK) {
                self.input.consume(BYTE_ORDER_MARK.len());
            }
        }
        loop {
            let begins_in = self.line;
            match self.read_one(fields)? {
                None => return Ok(None),
                Some(false) => {}
                Some(true) => return Ok(Some(begins_in)),
            }
        }
    }

    /// Whether what is read up to the end of a line, or of the file, is a record. `None` where there is nothing any more.
    fn read_one(&mut self, fields: &mut Vec<String>) -> Result<Option<bool>, Fault> {
        fields.clear();
        self.field.clear();
        let (begins_in, part) = (self.line, self.part.byte());
        let mut record = Record { fields, bytes: 0, is_text: true };
        let (mut state, mut opened_in) = (State::Begins, begins_in);
        let mut has_any = false;
        while let Some(byte) = self.next_byte()? {
            has_any = true;
            record.bytes += 1;
            if record.bytes > ROW_BYTES_MAX {
                return Err(Fault::Broken(
                    begins_in,
                    format!("begins a row of more than {ROW_BYTES_MAX} bytes"),
                ));
            }
            state = match (state, byte) {
                (State::Quoted, b'"') => State::Closed,
                (State::Quoted, _) | (State::Begins | State::Plain, _) if is_content(state, byte, part) => {
                    self.field.push(byte);
                    if state == State::Quoted { State::Quoted } else { State::Plain }
                }
                (State::Begins, b'"') => {
                    opened_in = self.line;
                    State::Quoted
                }
                (State::Closed, b'"') => {
                    self.field.push(b'"');
                    State::Quoted
                }
                (_, byte) if byte == part => {
                    record.end_field(&mut self.field);
                    State::Begins
                }
                (_, b'\r') if self.peek()? == Some(b'\n') => state,
                (_, b'\r' | b'\n') => {
                    self.line += u64::from(byte == b'\r');
                    return self.end(record, begins_in, state).map(Some);
                }
                _ => {
                    return Err(Fault::Broken(
                        self.line,
                        "has a quote that neither opens nor closes a field".to_owned(),
                    ));
                }
            };
        }
        match state {
            State::Quoted => Err(Fault::Broken(opened_in, "opens a quote that does not close".to_owned())),
            _ if !has_any => Ok(None),
            _ => self.end(record, begins_in, state).map(Some),
        }
    }

    fn end(&mut self, mut record: Record<'_>, begins_in: u64, state: State) -> Result<bool, Fault> {
        if record.fields.is_empty() && state == State::Begins {
            return Ok(false);
        }
        record.end_field(&mut self.field);
        match record.is_text {
            true => Ok(true),
            false => Err(Fault::Bad(begins_in, "is not UTF-8".to_owned())),
        }
    }

    fn peek(&mut self) -> Result<Option<u8>, Fault> {
        Ok(self.input.fill_buf().map_err(Fault::Io)?.first().copied())
    }

    fn next_byte(&mut self) -> Result<Option<u8>, Fault> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.input.consume(1);
            self.line += u64::from(byte == b'\n');
        }
        Ok(byte)
    }
}

/// Whether a byte is of the field itself.
fn is_content(state: State, byte: u8, part: u8) -> bool {
    match state {
        State::Quoted => byte != b'"',
        State::Begins | State::Plain => byte != part && !matches!(byte, b'\r' | b'\n' | b'"'),
        State::Closed => false,
    }
}

impl Record<'_> {
    fn end_field(&mut self, field: &mut Vec<u8>) {
        match String::from_utf8(std::mem::take(field)) {
            Ok(text) => self.fields.push(text),
            Err(_) => {
                self.is_text = false;
                self.fields.push(String::new());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Result<Vec<(u64, Vec<String>)>, String> {
        all_parted(text, Part::Comma)
    }

    fn all_parted(text: &[u8], part: Part) -> Result<Vec<(u64, Vec<String>)>, String> {
        let mut reader = CsvReader::new(Box::new(io::Cursor::new(text.to_vec())), part);
        let (mut records, mut fields) = (Vec::new(), Vec::new());
        loop {
            match reader.read(&mut fields) {
                Ok(Some(line)) => records.push((line, fields.clone())),
                Ok(None) => return Ok(records),
                Err(Fault::Broken(line, words) | Fault::Bad(line, words)) => {
                    return Err(format!("line {line} {words}"));
                }
                Err(Fault::Io(error)) => return Err(error.to_string()),
            }
        }
    }

    #[test]
    fn quotes_hold_commas_quotes_and_line_breaks() {
        for (text, expected) in [
            ("a,b\n1,2\n", vec![(1, vec!["a", "b"]), (2, vec!["1", "2"])]),
            ("a,b\r\n1,2", vec![(1, vec!["a", "b"]), (2, vec!["1", "2"])]),
            ("\u{feff}a\r1\r", vec![(1, vec!["a"]), (2, vec!["1"])]),
            ("\"a,\n\"\"x\"\"\",b\n\n\n1,\"\"\n", vec![(1, vec!["a,\n\"x\"", "b"]), (5, vec!["1", ""])]),
            (",\n", vec![(1, vec!["", ""])]),
            ("\"\"\n", vec![(1, vec![""])]),
            ("a,\"\r\n\",", vec![(1, vec!["a", "\r\n", ""])]),
            ("", vec![]),
        ] {
            let expected: Vec<(u64, Vec<String>)> = expected
                .into_iter()
                .map(|(line, fields)| (line, fields.into_iter().map(str::to_owned).collect()))
                .collect();
            assert_eq!(all(text.as_bytes()), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn tabs_part_fields_where_they_are_said_to() {
        let read = all_parted(b"a\tb,c\n\"x\ty\"\t\n", Part::Tab).unwrap();
        let fields: Vec<Vec<String>> = read.into_iter().map(|(_, fields)| fields).collect();
        assert_eq!(fields, [["a", "b,c"], ["x\ty", ""]]);
    }

    #[test]
    fn what_breaks_the_rules_is_told_with_its_line() {
        for (text, expected) in [
            (&b"a\n\"b\nc\nd"[..], "line 2 opens a quote that does not close"),
            (b"a\nb\"c\n", "line 2 has a quote that neither"),
            (b"a\n\"b\"c\n", "line 2 has a quote that neither"),
            (b"a\n\xff\n", "line 2 is not UTF-8"),
        ] {
            assert!(all(text).unwrap_err().starts_with(expected), "{:?}", all(text));
        }
    }
}
