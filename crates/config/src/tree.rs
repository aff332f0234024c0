//! Untyped settings: a tree of values with their origins.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::{ConfigError, Read};

/// A value and its origin, in words.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) origin: Arc<str>,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    String(String),
    Integer(i64),
    Boolean(bool),
    List(Vec<Node>),
    Table(BTreeMap<String, Node>),
    /// A type that no setting has, by name.
    Other(&'static str),
}

impl Value {
    /// The error for a value of the wrong type.
    pub(super) fn is_not(&self, wanted: &str) -> String {
        let kind = match self {
            Self::String(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Boolean(_) => "a boolean",
            Self::List(_) => "a list",
            Self::Table(_) => "a section",
            Self::Other(kind) => kind,
        };
        format!("must be {wanted}, and is {kind}")
    }
}

impl Node {
    /// Reads a TOML document; errors name `source`.
    pub(super) fn document(text: &str, source: &str) -> Read<Self> {
        let reader = Reader { text, source, lines: true };
        let document = DeTable::parse(text).map_err(|error| reader.refuse(&error))?;
        Ok(reader.table(document.get_ref(), document.span().start))
    }

    /// Reads one TOML value; errors name `source`.
    pub(super) fn single(text: &str, source: &str) -> Read<Self> {
        let reader = Reader { text, source, lines: false };
        let value = DeValue::parse(text).map_err(|error| reader.refuse(&error))?;
        Ok(reader.value(value.get_ref(), 0))
    }

    /// Merges `over` on top: sections are merged, anything else is replaced.
    pub(super) fn merge(&mut self, over: Self) {
        match (&mut self.value, over.value) {
            (Value::Table(below), Value::Table(above)) => {
                for (key, node) in above {
                    match below.get_mut(&key) {
                        Some(under) => under.merge(node),
                        None => _ = below.insert(key, node),
                    }
                }
            }
            (below, above) => {
                *below = above;
                self.origin = over.origin;
            }
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(entries) => entries.get(key),
            _ => None,
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    source: &'a str,
    lines: bool,
}

impl Reader<'_> {
    fn refuse(&self, error: &toml::de::Error) -> ConfigError {
        let origin = self.origin(error.span().map_or(0, |span| span.start));
        ConfigError::new(format!("{origin}: {}", error.message()))
    }

    fn origin(&self, offset: usize) -> Arc<str> {
        if !self.lines {
            return self.source.into();
        }
        let before = self.text.as_bytes().iter().take(offset);
        format!("{} line {}", self.source, 1 + before.filter(|byte| **byte == b'\n').count()).into()
    }

    fn value(&self, value: &DeValue<'_>, offset: usize) -> Node {
        let read = match value {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or(Value::Other("an integer of more than 64 bits"), Value::Integer),
            DeValue::Boolean(flag) => Value::Boolean(*flag),
            DeValue::Array(items) => {
                Value::List(items.iter().map(|item| self.value(item.get_ref(), item.span().start)).collect())
            }
            DeValue::Table(entries) => return self.table(entries, offset),
            DeValue::Float(_) => Value::Other("a float"),
            DeValue::Datetime(_) => Value::Other("a date"),
        };
        Node { value: read, origin: self.origin(offset) }
    }

    fn table(&self, entries: &DeTable<'_>, offset: usize) -> Node {
        let read = entries.iter().map(|(key, entry)| {
            (key.get_ref().to_string(), self.value(entry.get_ref(), entry.span().start.max(key.span().start)))
        });
        Node { value: Value::Table(read.collect()), origin: self.origin(offset) }
    }
}
