//! The rows of a table in any format.

use std::sync::Arc;

use serde_json::Value;

use crate::cells::Columns;
use crate::csv::{CsvReader, delimiter};
use crate::json_lines::JsonRows;
use crate::kinds::{Format, Kind};
use crate::parquet::ParquetRows;
use crate::row::{Row, RowFault};
use crate::shared::SharedFile;
use crate::streams::reader;

/// Separators of other files that are called CSV.
const OTHER_PARTS: [(char, &str); 4] =
    [(';', "semicolons"), ('\t', "tabs, as in tsv"), (',', "commas, as in csv"), ('|', "bars")];

pub struct Rows(Source);

enum Source {
    Csv { reader: CsvReader, names: Vec<Arc<str>>, fields: Vec<String> },
    JsonLines(JsonRows),
    Parquet(ParquetRows),
    Over,
}

impl Rows {
    /// Fails if the file is not of this `kind`, or its column names are invalid.
    pub fn open(file: &SharedFile, kind: Kind) -> Result<Self, RowFault> {
        let text = || reader(file.cursor(), kind.compression).map_err(RowFault::Unreadable);
        Ok(Self(match kind.format {
            Format::Csv | Format::Tsv => {
                let delimiter = delimiter(kind.format);
                let mut reader = CsvReader::begin(text()?, delimiter).map_err(RowFault::Unreadable)?;
                let mut fields = Vec::new();
                let line = reader.read(&mut fields)?.unwrap_or(1);
                let names: Vec<Arc<str>> = fields.iter().map(|name| Arc::from(name.as_str())).collect();
                check_names(&names, delimiter).map_err(|words| {
                    RowFault::Broken(line, format!("has the names of columns, and {words}"))
                })?;
                Source::Csv { reader, names, fields }
            }
            Format::JsonLines => Source::JsonLines(JsonRows::new(text()?)),
            Format::Parquet => Source::Parquet(ParquetRows::open(file)?),
        }))
    }

    /// The names of the columns, if they precede the rows.
    #[must_use]
    pub fn names(&self) -> Option<&[Arc<str>]> {
        match &self.0 {
            Source::Csv { names, .. } => Some(names),
            Source::Parquet(rows) => Some(rows.names()),
            Source::JsonLines(_) | Source::Over => None,
        }
    }
}

impl Iterator for Rows {
    type Item = Result<Row, RowFault>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match &mut self.0 {
            Source::Csv { reader, names, fields } => next_of_csv(reader, names, fields).transpose(),
            Source::JsonLines(rows) => rows.next(),
            Source::Parquet(rows) => rows.next(),
            Source::Over => None,
        };
        if matches!(next, Some(Err(RowFault::Unreadable(_) | RowFault::Broken(..)))) {
            self.0 = Source::Over;
        }
        next
    }
}

/// Refuses repeated names, and a single name that contains another separator.
fn check_names(names: &[Arc<str>], delimiter: u8) -> Result<(), String> {
    if let [name] = names
        && let Some((_, parted)) =
            OTHER_PARTS.iter().find(|(letter, _)| *letter != char::from(delimiter) && name.contains(*letter))
    {
        let parts = if delimiter == b'\t' { "tabs" } else { "commas" };
        return Err(format!("{name:?} is one of them: {parts} part fields, not {parted}"));
    }
    Columns::named(names.iter().cloned()).map(|_| ())
}

fn next_of_csv(
    reader: &mut CsvReader,
    names: &[Arc<str>],
    fields: &mut Vec<String>,
) -> Result<Option<Row>, RowFault> {
    let Some(line) = reader.read(fields)? else { return Ok(None) };
    if fields.len() != names.len() {
        let words = format!("has {} fields, and the table {} columns", fields.len(), names.len());
        return Err(RowFault::Bad(line, words));
    }
    let cells = names.iter().cloned().zip(fields.drain(..).map(Value::String)).collect();
    Ok(Some(Row { line, cells, text: None }))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn open(text: &str, kind: &str) -> Result<Rows, RowFault> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        Rows::open(&SharedFile::new(file).unwrap(), kind.parse().unwrap())
    }

    #[test]
    fn rows_of_csv_have_the_names_of_the_first_line() {
        let mut rows = open("id,text\n1,\"a\nb\"\n2,c\n", "csv").unwrap();
        assert_eq!(rows.names().unwrap().len(), 2);
        let first = rows.next().unwrap().unwrap();
        assert_eq!((first.line, &*first.cells[1].0, &first.cells[1].1), (2, "text", &Value::from("a\nb")));
        assert_eq!(rows.next().unwrap().unwrap().line, 4);
        assert!(rows.next().is_none());
    }

    #[test]
    fn a_table_with_tabs_has_rows_too() {
        let mut rows = open("id\ttext\n1\ta, b\n", "tsv").unwrap();
        let row = rows.next().unwrap().unwrap();
        assert_eq!((&*row.cells[1].0, &row.cells[1].1), ("text", &Value::from("a, b")));
    }

    #[test]
    fn a_row_of_another_length_is_told_and_the_next_one_is_read() {
        let mut rows = open("a,b\n1\n2,3\n", "csv").unwrap();
        let told = rows.next().unwrap().unwrap_err().to_string();
        assert_eq!(told, "line 2 has 1 fields, and the table 2 columns");
        assert!(rows.next().unwrap().is_ok());
    }

    #[test]
    fn a_quote_that_does_not_close_ends_the_table() {
        let mut rows = open("a\n\"1\n2\n", "csv").unwrap();
        assert_eq!(rows.next().unwrap().unwrap_err().to_string(), "line 2 opens a quote that does not close");
        assert!(rows.next().is_none());
    }

    #[test]
    fn two_columns_of_one_name_and_what_is_no_parquet_are_refused() {
        let told = open("a,a\n1,2\n", "csv").err().unwrap().to_string();
        assert_eq!(told, "line 1 has the names of columns, and two columns are called \"a\"");
        let told = open("\u{feff}id;text\r\n1;a\r\n", "csv").err().unwrap().to_string();
        assert_eq!(
            told,
            "line 1 has the names of columns, and \"id;text\" is one of them: commas part fields, not semicolons"
        );
        for (text, kind, expected) in [
            ("id\ttext\n", "csv", "commas part fields, not tabs, as in tsv"),
            ("id,text\n", "tsv", "tabs part fields, not commas, as in csv"),
        ] {
            assert!(open(text, kind).err().unwrap().to_string().ends_with(expected));
        }
        assert!(open("a,b\n", "parquet").is_err());
        assert!(open("a,b\n", "csv.gz").is_err());
    }
}
