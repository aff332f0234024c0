//! Rows of JSON Lines: an object per line, whose members are its cells.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, BufRead};
use std::sync::Arc;

use serde::Deserializer as _;
use serde::de::{Error as _, MapAccess, Visitor};
use serde_json::Value;

use crate::row::{ROW_BYTES_MAX, Row, RowFault};
use crate::streams::read_line;

pub(crate) struct JsonRows {
    input: Box<dyn BufRead>,
    line: u64,
    /// Blank lines after the last row so far.
    blank: u64,
    /// The row after a blank line, which is reported first.
    held: Option<Result<Row, RowFault>>,
}

impl JsonRows {
    pub(crate) fn new(input: Box<dyn BufRead>) -> Self {
        Self { input, line: 0, blank: 0, held: None }
    }

    /// The next row. Blank lines at the end are skipped; others are errors.
    pub(crate) fn next(&mut self) -> Option<Result<Row, RowFault>> {
        if let Some(row) = self.held.take() {
            return Some(row);
        }
        loop {
            let mut text = Vec::new();
            match read_line(&mut *self.input, &mut text, ROW_BYTES_MAX) {
                Ok(0) => return None,
                Ok(_) => self.line += 1,
                Err(error) => return Some(Err(RowFault::Unreadable(error))),
            }
            if text.trim_ascii().is_empty() {
                self.blank += 1;
                continue;
            }
            let row = read_row(self.line, &text).map_err(|words| RowFault::Bad(self.line, words));
            let blank = std::mem::take(&mut self.blank);
            if blank == 0 {
                return Some(row);
            }
            self.held = Some(row);
            return Some(Err(RowFault::Bad(self.line - blank, "is empty".to_owned())));
        }
    }
}

fn read_row(line: u64, text: &[u8]) -> Result<Row, String> {
    let text = text.trim_ascii();
    if text.first() != Some(&b'{') {
        return Err("is no JSON object".to_owned());
    }
    let mut reader = serde_json::Deserializer::from_slice(text);
    let cells = reader.deserialize_map(Cells).and_then(|cells| reader.end().map(|()| cells));
    match cells {
        Ok(cells) => Ok(Row { line, cells, text: Some(text.to_vec()) }),
        Err(error) => {
            let words = error.to_string();
            let what = words.split(" at line ").next().unwrap_or(&words);
            Err(format!("is not valid: {what} (column {})", error.column()))
        }
    }
}

/// The members of an object in their order, each once.
struct Cells;

impl<'de> Visitor<'de> for Cells {
    type Value = Vec<(Arc<str>, Value)>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut cells, mut names) = (Vec::new(), HashSet::new());
        while let Some((name, value)) = members.next_entry::<String, Value>()? {
            let name: Arc<str> = name.into();
            if !names.insert(Arc::clone(&name)) {
                return Err(A::Error::custom(format!("two members are called {name:?}")));
            }
            cells.push((name, value));
        }
        Ok(cells)
    }
}

/// Adds members to the text of an object, which is otherwise unchanged.
pub(crate) fn write_with(
    out: &mut impl io::Write,
    text: &[u8],
    more: impl IntoIterator<Item = (impl AsRef<str>, Value)>,
) -> io::Result<()> {
    let inner = text.trim_ascii().strip_suffix(b"}").unwrap_or(text).trim_ascii_end();
    out.write_all(inner)?;
    let mut is_first = inner.ends_with(b"{") && inner.len() == 1;
    for (name, value) in more {
        if !is_first {
            out.write_all(b",")?;
        }
        is_first = false;
        serde_json::to_writer(&mut *out, name.as_ref())?;
        out.write_all(b":")?;
        serde_json::to_writer(&mut *out, &value)?;
    }
    out.write_all(b"}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rows(text: &str) -> Vec<Result<Row, RowFault>> {
        let mut rows = JsonRows::new(Box::new(io::Cursor::new(text.as_bytes().to_vec())));
        std::iter::from_fn(|| rows.next()).collect()
    }

    #[test]
    fn members_are_cells_in_their_order() {
        let read = rows("{\"b\":1,\"a\":[2.50]}\n{}\n\n \n");
        let names: Vec<&str> = read[0].as_ref().unwrap().cells.iter().map(|(name, _)| &**name).collect();
        assert_eq!((names, read.len()), (vec!["b", "a"], 2));
    }

    #[test]
    fn a_bad_line_is_told_and_the_next_one_is_read() {
        let read = rows("{}\n\n[]\n{}\n{\"a\":1,\"a\":2}\n{\"a\"\n");
        let told: Vec<String> =
            read.iter().filter_map(|row| row.as_ref().err().map(ToString::to_string)).collect();
        for (told, expected) in told.iter().zip([
            "line 2 is empty",
            "line 3 is no JSON object",
            "line 5 is not valid: two members are called \"a\"",
            "line 6 is not valid: EOF",
        ]) {
            assert!(told.starts_with(expected), "{told}");
        }
        assert_eq!(told.len(), 4);
    }

    #[test]
    fn members_are_added_and_what_was_there_stays_as_it_is() {
        for (text, expected) in [
            ("{}", "{\"x\":null}\n"),
            ("{ }", "{\"x\":null}\n"),
            ("{\"a\": 1.00 }", "{\"a\": 1.00,\"x\":null}\n"),
            ("{\"a\": {}}", "{\"a\": {},\"x\":null}\n"),
        ] {
            let mut out = Vec::new();
            write_with(&mut out, text.as_bytes(), [("x", json!(null))]).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
