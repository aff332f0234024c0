//! Values of statements, for either database.

use bytes::Bytes;
use overnight_domain::ids::Id;
use overnight_domain::scheduler::{AccountKey, ModelKey};
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use sqlx::Arguments;
use sqlx::postgres::PgArguments;

use crate::database::PostgresError;

/// Cloning copies no bytes of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Integer(Option<i64>),
    Bytes(Option<Bytes>),
    Text(Option<String>),
    /// A whole column, for PostgreSQL.
    Integers(Vec<Option<i64>>),
    ByteStrings(Vec<Option<Bytes>>),
    Texts(Vec<Option<String>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    Bytes,
    /// JSON text, stored as bytes.
    Json,
    Text,
}

impl Kind {
    /// PostgreSQL's type of such a column.
    pub(crate) const fn on_postgres(self) -> &'static str {
        match self {
            Self::Integer => "bigint",
            Self::Bytes | Self::Json => "bytea",
            Self::Text => "text",
        }
    }
}

impl ToSql for Value {
    /// Arrays are only for PostgreSQL; SQLite sees a null.
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Integer(Some(value)) => ValueRef::Integer(*value),
            Self::Bytes(Some(value)) => ValueRef::Blob(value),
            Self::Text(Some(value)) => ValueRef::Text(value.as_bytes()),
            _ => ValueRef::Null,
        }))
    }
}

pub(super) fn arguments(values: &[Value]) -> Result<PgArguments, PostgresError> {
    let mut arguments = PgArguments::default();
    for value in values {
        let added = match value {
            Value::Integer(value) => arguments.add(value),
            Value::Bytes(value) => arguments.add(value.as_deref()),
            Value::Text(value) => arguments.add(value),
            Value::Integers(values) => arguments.add(values),
            Value::ByteStrings(values) => {
                arguments.add(values.iter().map(Option::as_deref).collect::<Vec<Option<&[u8]>>>())
            }
            Value::Texts(values) => arguments.add(values),
        };
        added.map_err(PostgresError::Encode)?;
    }
    Ok(arguments)
}

/// Turns rows, each with a value for every column of `kinds`, into columns.
pub(super) fn columns(kinds: &[Kind], rows: &[Value]) -> Vec<Value> {
    let column = |(place, kind): (usize, &Kind)| {
        let values = rows.iter().skip(place).step_by(kinds.len());
        match kind {
            Kind::Integer => Value::Integers(values.map(Value::integer).collect()),
            Kind::Bytes | Kind::Json => Value::ByteStrings(values.map(Value::bytes).collect()),
            Kind::Text => Value::Texts(values.map(Value::text).collect()),
        }
    };
    kinds.iter().enumerate().map(column).collect()
}

impl Value {
    fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => *value,
            other => other.misplaced(),
        }
    }

    fn bytes(&self) -> Option<Bytes> {
        match self {
            Self::Bytes(value) => value.clone(),
            other => other.misplaced(),
        }
    }

    fn text(&self) -> Option<String> {
        match self {
            Self::Text(value) => value.clone(),
            other => other.misplaced(),
        }
    }

    fn misplaced<T>(&self) -> Option<T> {
        debug_assert!(false, "{self:?} is not what its column holds");
        None
    }
}

/// Declares how a value is made of what the code has.
macro_rules! values {
    ($($from:ty => |$value:ident| $made:expr,)*) => {
        $(impl From<$from> for Value {
            fn from($value: $from) -> Self {
                $made
            }
        })*
    };
}

impl<K> From<Id<K>> for Value {
    fn from(id: Id<K>) -> Self {
        id.to_bytes().into()
    }
}

values! {
    AccountKey => |value| Self::Integer(Some(value.0)),
    ModelKey => |value| Self::Integer(Some(value.0)),
    i64 => |value| Self::Integer(Some(value)),
    Option<i64> => |value| Self::Integer(value),
    u32 => |value| Self::Integer(Some(value.into())),
    bool => |value| Self::Integer(Some(value.into())),
    Bytes => |value| Self::Bytes(Some(value)),
    Option<Bytes> => |value| Self::Bytes(value),
    Vec<u8> => |value| Self::Bytes(Some(value.into())),
    Option<Vec<u8>> => |value| Self::Bytes(value.map(Bytes::from)),
    &[u8] => |value| Self::Bytes(Some(Bytes::copy_from_slice(value))),
    [u8; 16] => |value| Self::Bytes(Some(Bytes::copy_from_slice(&value))),
    [u8; 32] => |value| Self::Bytes(Some(Bytes::copy_from_slice(&value))),
    &str => |value| Self::Text(Some(value.to_owned())),
    String => |value| Self::Text(Some(value)),
    Option<String> => |value| Self::Text(value),
    Vec<i64> => |values| Self::Integers(values.into_iter().map(Some).collect()),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let rows = [Value::from(1i64), Value::from(vec![7u8]), Value::from(2i64), Value::Bytes(None)];
        assert_eq!(
            columns(&[Kind::Integer, Kind::Bytes], &rows),
            [
                Value::Integers(vec![Some(1), Some(2)]),
                Value::ByteStrings(vec![Some(Bytes::from_static(&[7])), None])
            ]
        );
    }
}
