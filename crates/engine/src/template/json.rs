//! The filter `tojson` of chat templates: Python's `json.dumps` without escapes for HTML or ASCII.

use std::io::{self, Write};

use minijinja::{Error, ErrorKind, Value, value::Kwargs};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

#[expect(clippy::needless_pass_by_value, reason = "minijinja hands arguments over by value")]
pub(super) fn tojson(value: &Value, arguments: Kwargs) -> Result<Value, Error> {
    let indent: Option<usize> = arguments.get("indent")?;
    // Other arguments of Python's make no relevant difference.
    let _: Option<Value> = arguments.get("ensure_ascii")?;
    let _: Option<Value> = arguments.get("sort_keys")?;
    let _: Option<Value> = arguments.get("separators")?;
    arguments.assert_all_used()?;
    let mut json = Vec::new();
    let written = match indent {
        Some(width) => {
            let indent = " ".repeat(width.min(16));
            value.serialize(&mut Serializer::with_formatter(
                &mut json,
                PrettyFormatter::with_indent(indent.as_bytes()),
            ))
        }
        None => value.serialize(&mut Serializer::with_formatter(&mut json, Spaced)),
    };
    written.map_err(|fault| Error::new(ErrorKind::BadSerialization, fault.to_string()))?;
    let json = String::from_utf8(json)
        .map_err(|fault| Error::new(ErrorKind::BadSerialization, fault.to_string()))?;
    Ok(Value::from_safe_string(json))
}

/// One line, with a space after each comma and colon.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
