//! The lines of the file: the first, those of rows, and the last.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use overnight_base::encryption::{MARK, is_encrypted, is_marked};
use serde::de::{Error, IgnoredAny, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::StoreError;
use crate::database::{Dialect, Row, Value};
use crate::object_store::Reference;
use crate::operations::transfer::counts::Counts;
use crate::operations::transfer::tables::{Column, Form, TABLES, Table};

/// In every first line.
pub(super) const FORMAT: &str = "overnight-export";

/// The format's version; any other is refused.
pub(super) const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header<'a> {
    pub(super) format: Cow<'a, str>,
    pub(super) version: u32,
    /// The store's newest migration.
    pub(super) schema: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Trailer {
    pub(super) rows: Counts,
    /// Of all lines before, in hexadecimal.
    pub(super) sha256: String,
}

enum Cell<'a> {
    Null,
    Integer(i64),
    Text(Cow<'a, str>),
}

pub(super) enum Line {
    /// With a value for each column.
    Row(&'static Table, Vec<Value>),
    End(Trailer),
}

pub(super) fn write_row(table: &Table, row: &Row, line: &mut Vec<u8>) -> Result<(), StoreError> {
    line.extend_from_slice(format!("[\"{}\",[", table.name).as_bytes());
    for (place, column) in table.columns.iter().enumerate() {
        if place > 0 {
            line.push(b',');
        }
        write_cell(column, row, line)?;
    }
    line.extend_from_slice(b"]]\n");
    Ok(())
}

fn write_cell(column: &Column, row: &Row, line: &mut Vec<u8>) -> Result<(), StoreError> {
    const NO_TEXT: StoreError = StoreError::Damaged("a body is not UTF-8");
    match column.form {
        Form::Integer | Form::Within(..) | Form::Gathering => match row.get::<Option<i64>>(column.name)? {
            Some(number) => line.extend_from_slice(number.to_string().as_bytes()),
            None => line.extend_from_slice(b"null"),
        },
        Form::Text => write_text(row.get(column.name)?, line),
        Form::Bytes | Form::Exactly(_) | Form::Each(_) => {
            let text = row.get::<Option<&[u8]>>(column.name)?.map(|bytes| STANDARD.encode(bytes));
            write_text(text.as_deref(), line);
        }
        Form::Json => {
            let bytes = row.get::<Option<&[u8]>>(column.name)?;
            if let Some(encrypted) = bytes.and_then(|bytes| bytes.strip_prefix(&MARK)) {
                write_text(Some(&format!("{}{}", MARK.escape_ascii(), STANDARD.encode(encrypted))), line);
                return Ok(());
            }
            write_text(bytes.map(std::str::from_utf8).transpose().map_err(|_| NO_TEXT)?, line);
        }
    }
    Ok(())
}

fn write_text(text: Option<&str>, line: &mut Vec<u8>) {
    // Writing to memory cannot fail, and texts are valid JSON.
    let _ = serde_json::to_writer(line, &text);
}

/// Reads a line after the first; the error is in words.
pub(super) fn read_line(line: &[u8], dialect: Dialect) -> Result<Line, String> {
    if line.starts_with(b"{") {
        return serde_json::from_slice(line).map(Line::End).map_err(|error| error.to_string());
    }
    let (name, mut cells): (Cow<'_, str>, Vec<Cell<'_>>) =
        serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let table = TABLES.iter().find(|table| table.name == name);
    let table = table.ok_or_else(|| format!("unknown table {name:?}"))?;
    if cells.len() + table.added >= table.columns.len() && cells.len() < table.columns.len() {
        cells.resize_with(table.columns.len(), || Cell::Null);
    }
    if cells.len() != table.columns.len() {
        return Err(format!("a row of {name} must have {} values, not {}", table.columns.len(), cells.len()));
    }
    let read = |(column, cell): (&Column, _)| {
        read_cell(column.form, cell, dialect)
            .ok_or_else(|| format!("invalid value for {name}.{}", column.name))
    };
    let row = table.columns.iter().zip(cells).map(read).collect::<Result<_, _>>()?;
    Ok(Line::Row(table, row))
}

/// `None` for an invalid value.
fn read_cell(form: Form, cell: Cell<'_>, dialect: Dialect) -> Option<Value> {
    Some(match (form, cell) {
        (Form::Gathering, Cell::Null) => Value::from(Some(0).filter(|_| dialect == Dialect::Sqlite)),
        (Form::Integer | Form::Within(..), Cell::Null) => Value::Integer(None),
        (Form::Within(lowest, highest), Cell::Integer(number)) => {
            Some(number).filter(|number| (lowest..=highest).contains(number))?.into()
        }
        (Form::Integer | Form::Gathering, Cell::Integer(number)) => number.into(),
        (Form::Text, Cell::Null) => Value::Text(None),
        (Form::Text, Cell::Text(text)) => Value::Text(Some(text.into_owned())),
        (Form::Bytes | Form::Exactly(_) | Form::Each(_) | Form::Json, Cell::Null) => Value::Bytes(None),
        (Form::Bytes, Cell::Text(text)) => STANDARD.decode(text.as_bytes()).ok()?.into(),
        (Form::Exactly(length), Cell::Text(text)) => {
            let bytes = STANDARD.decode(text.as_bytes()).ok()?;
            Some(bytes).filter(|bytes| bytes.len() == length && !is_marked(bytes))?.into()
        }
        (Form::Each(length), Cell::Text(text)) => {
            let bytes = STANDARD.decode(text.as_bytes()).ok()?;
            Some(bytes).filter(|bytes| bytes.len() % length == 0 && !is_marked(bytes))?.into()
        }
        (Form::Json, Cell::Text(text)) => match text.strip_prefix(&MARK.escape_ascii().to_string()) {
            Some(encrypted) => {
                let stored = [&MARK[..], &STANDARD.decode(encrypted).ok()?].concat();
                Some(stored)
                    .filter(|stored| is_encrypted(stored) || Reference::read(stored).is_some())?
                    .into()
            }
            None => Some(text).filter(|text| is_line_of_json(text))?.into_owned().into_bytes().into(),
        },
        _ => return None,
    })
}

/// One value. With a line break around it, it would be two lines of a list.
fn is_line_of_json(text: &str) -> bool {
    !text.contains(['\n', '\r']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

impl<'de: 'a, 'a> Deserialize<'de> for Cell<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, a string or null")
    }

    fn visit_unit<E>(self) -> Result<Cell<'de>, E> {
        Ok(Cell::Null)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Cell<'de>, E> {
        Ok(Cell::Integer(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Cell<'de>, E> {
        i64::try_from(number).map(Cell::Integer).map_err(E::custom)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Owned(text.to_owned())))
    }
}
