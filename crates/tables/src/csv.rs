//! Comma-separated values, as in RFC 4180, and the same with tabs. A quoted field may contain commas, doubled quotes and line breaks. Any
//! violation is an error with its line: an unclosed quote would otherwise swallow the following rows.

use std::io::{self, BufRead, Write};

use csv_core::{ReadFieldResult, Reader, ReaderBuilder};

use crate::kinds::Format;
use crate::row::{ROW_BYTES_MAX, RowFault};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

pub(crate) const fn delimiter(format: Format) -> u8 {
    match format {
        Format::Tsv => b'\t',
        Format::Csv | Format::JsonLines | Format::Parquet => b',',
    }
}

/// Writes records, with quotes if necessary.
pub(crate) fn writer<W: Write>(out: W, delimiter: u8) -> csv::Writer<W> {
    csv::WriterBuilder::new().delimiter(delimiter).from_writer(out)
}

/// Text in CSV that spreadsheets take for formulas: it begins with a character of [`BEGINNINGS`], and numbers are excepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formulas {
    /// Is written unchanged.
    Kept,
    /// Is written behind an apostrophe, by which spreadsheets take it for text.
    Escaped,
}

/// Tabs and line breaks too, because spreadsheets skip them, and the wide forms, which some spreadsheets read like the others
/// (<https://owasp.org/www-community/attacks/CSV_Injection>).
const BEGINNINGS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

impl Formulas {
    pub(crate) fn write(self, cell: String) -> String {
        if self == Self::Kept || !cell.starts_with(BEGINNINGS) || is_number(&cell) {
            return cell;
        }
        format!("'{cell}")
    }
}

/// Digits with a sign, a point and an exponent.
fn is_number(cell: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_digit() || "+-.eE".contains(letter);
    cell.chars().all(is_part) && cell.parse::<f64>().is_ok()
}

pub(crate) struct CsvReader {
    input: Box<dyn BufRead>,
    parser: Box<Reader>,
    /// The next line, from 1.
    line: u64,
    /// The current field, and its source text.
    field: Vec<u8>,
    raw: Vec<u8>,
}

impl CsvReader {
    pub(crate) fn begin(mut input: Box<dyn BufRead>, delimiter: u8) -> io::Result<Self> {
        if input.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
            input.consume(BYTE_ORDER_MARK.len());
        }
        let parser = Box::new(ReaderBuilder::new().delimiter(delimiter).build());
        Ok(Self { input, parser, line: 1, field: vec![0; 1 << 10], raw: Vec::new() })
    }

    /// Reads the next record into `fields`; returns the line that it begins in, or `None` at the end. Blank lines are skipped.
    pub(crate) fn read(&mut self, fields: &mut Vec<String>) -> Result<Option<u64>, RowFault> {
        fields.clear();
        while let Some(byte @ (b'\r' | b'\n')) = self.peek()? {
            self.input.consume(1);
            self.end_line(byte)?;
        }
        let begins_in = self.line;
        let (mut bytes, mut is_text) = (0, true);
        while let Some((length, is_last)) = self.read_field(begins_in, bytes)? {
            bytes += self.raw.len();
            let text = str::from_utf8(&self.field[..length]);
            is_text &= text.is_ok();
            fields.push(text.unwrap_or_default().to_owned());
            if is_last {
                let bad = || RowFault::Bad(begins_in, "is not UTF-8".to_owned());
                return if is_text { Ok(Some(begins_in)) } else { Err(bad()) };
            }
        }
        Ok(None)
    }

    /// Reads a field of the record that begins in this line and has `bytes` before it: returns its length, and whether it is the last.
    fn read_field(&mut self, begins_in: u64, bytes: usize) -> Result<Option<(usize, bool)>, RowFault> {
        self.raw.clear();
        let mut length = 0;
        loop {
            let input = self.input.fill_buf().map_err(RowFault::Unreadable)?;
            let is_over = input.is_empty();
            let (result, read, written) = self.parser.read_field(input, &mut self.field[length..]);
            self.raw.extend_from_slice(&input[..read]);
            self.input.consume(read);
            length += written;
            if bytes + self.raw.len() > ROW_BYTES_MAX {
                let words = format!("begins a row of more than {ROW_BYTES_MAX} bytes");
                return Err(RowFault::Broken(begins_in, words));
            }
            match result {
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::OutputFull => self.field.resize(2 * self.field.len(), 0),
                ReadFieldResult::Field { record_end } => {
                    let end = if is_over { None } else { self.raw.pop() };
                    self.check_quotes(length, is_over)?;
                    self.line += count(&self.raw, b'\n');
                    if let Some(byte) = end.filter(|_| record_end) {
                        self.end_line(byte)?;
                    }
                    return Ok(Some((length, record_end)));
                }
                ReadFieldResult::End => return Ok(None),
            }
        }
    }

    /// Refuses quotes that the parser accepts: a field has none, or one at each end and doubled ones inside.
    fn check_quotes(&self, length: usize, is_over: bool) -> Result<(), RowFault> {
        let quotes = count(&self.raw, b'"');
        let are_around = self.raw.starts_with(b"\"") && self.raw.ends_with(b"\"");
        if quotes == 0 || are_around && quotes == 2 + 2 * count(&self.field[..length], b'"') {
            return Ok(());
        }
        let words = match is_over && quotes % 2 == 1 && self.raw.starts_with(b"\"") {
            true => "opens a quote that does not close",
            false => "has a quote that neither opens nor closes a field",
        };
        Err(RowFault::Broken(self.line, words.to_owned()))
    }

    /// A line ended with this byte; CR and LF together are one end.
    fn end_line(&mut self, byte: u8) -> Result<(), RowFault> {
        self.line += 1;
        if byte == b'\r' && self.peek()? == Some(b'\n') {
            self.input.consume(1);
        }
        Ok(())
    }

    fn peek(&mut self) -> Result<Option<u8>, RowFault> {
        Ok(self.input.fill_buf().map_err(RowFault::Unreadable)?.first().copied())
    }
}

fn count(bytes: &[u8], byte: u8) -> u64 {
    memchr::memchr_iter(byte, bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Result<Vec<(u64, Vec<String>)>, String> {
        all_parted(text, b',')
    }

    fn all_parted(text: &[u8], delimiter: u8) -> Result<Vec<(u64, Vec<String>)>, String> {
        let mut reader = CsvReader::begin(Box::new(io::Cursor::new(text.to_vec())), delimiter).unwrap();
        let (mut records, mut fields) = (Vec::new(), Vec::new());
        loop {
            match reader.read(&mut fields) {
                Ok(Some(line)) => records.push((line, fields.clone())),
                Ok(None) => return Ok(records),
                Err(error) => return Err(error.to_string()),
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
            ("a\r\n\"x\r\ny\"\r\n\r\n2\r\n", vec![(1, vec!["a"]), (2, vec!["x\r\ny"]), (5, vec!["2"])]),
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
        let read = all_parted(b"a\tb,c\n\"x\ty\"\t\n", b'\t').unwrap();
        let fields: Vec<Vec<String>> = read.into_iter().map(|(_, fields)| fields).collect();
        assert_eq!(fields, [["a", "b,c"], ["x\ty", ""]]);
    }

    #[test]
    fn broken_csv_is_reported_with_its_line() {
        for (text, expected) in [
            (&b"a\n\"b\nc\nd"[..], "line 2 opens a quote that does not close"),
            (b"a\nb\"c\n", "line 2 has a quote that neither"),
            (b"a\n\"b\"c\n", "line 2 has a quote that neither"),
            (b"a\n\"b\" \n", "line 2 has a quote that neither"),
            (b"a\nb \"c\" d\n", "line 2 has a quote that neither"),
            (b"a\n\"b\"c\"\"\n", "line 2 has a quote that neither"),
            (b"a\n\"b\"\"", "line 2 opens a quote that does not close"),
            (b"a,b\n\"1\n2\",\"3\n", "line 3 opens a quote that does not close"),
            (b"a\n\xff\n", "line 2 is not UTF-8"),
        ] {
            assert!(all(text).unwrap_err().starts_with(expected), "{:?}", all(text));
        }
    }

    #[test]
    fn formulas_are_escaped_and_numbers_are_not() {
        for cell in [
            "=1+1",
            "+1+1",
            "-1+1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "\n=1",
            "-",
            "=",
            "-inf",
            "+1 2",
            "-A1",
            "--1",
            "＝1+1",
            "＋1",
            "－1",
            "＠SUM(A1)",
        ] {
            assert_eq!(Formulas::Escaped.write(cell.to_owned()), format!("'{cell}"));
            assert_eq!(Formulas::Kept.write(cell.to_owned()), cell);
        }
        for cell in ["", "-1", "+1.5", "-1e5", "-.5", "1=1", "a@b", " =1", "'=1"] {
            assert_eq!(Formulas::Escaped.write(cell.to_owned()), cell);
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let records = [vec!["a", "b, \"c\"", "d\r\ne\n"], vec!["", "", ""], vec![" x\t", "ü", "'"]];
        for delimiter in [b',', b'\t'] {
            let mut text = Vec::new();
            for record in records.iter().chain([&vec![""]]) {
                writer(&mut text, delimiter).write_record(record).unwrap();
            }
            let mut reader = CsvReader::begin(Box::new(io::Cursor::new(text)), delimiter).unwrap();
            let mut fields = Vec::new();
            for record in &records {
                assert!(reader.read(&mut fields).unwrap().is_some());
                assert_eq!(&fields, record);
            }
            assert!(reader.read(&mut fields).unwrap().is_some());
            assert_eq!(fields, [""]);
            assert!(reader.read(&mut fields).unwrap().is_none());
        }
    }
}
