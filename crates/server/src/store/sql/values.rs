//! Values of statements, before it is known which database gets them.

use sqlx::Arguments;
use sqlx::postgres::PgArguments;
use sqlx::sqlite::SqliteArguments;

use crate::store::StoreError;

/// A value of a statement.
#[derive(Debug, Clone)]
pub(in crate::store) enum Value {
    Integer(Option<i64>),
    Bytes(Option<Vec<u8>>),
    Text(Option<String>),
    /// A whole column, for PostgreSQL.
    Integers(Vec<Option<i64>>),
    ByteStrings(Vec<Option<Vec<u8>>>),
    Texts(Vec<Option<String>>),
}

/// As SQLite takes them; it has no columns.
pub(super) fn for_sqlite(values: Vec<Value>) -> Result<SqliteArguments, StoreError> {
    let mut arguments = SqliteArguments::default();
    for value in values {
        let added = match value {
            Value::Integer(value) => arguments.add(value),
            Value::Bytes(value) => arguments.add(value),
            Value::Text(value) => arguments.add(value),
            Value::Integers(_) | Value::ByteStrings(_) | Value::Texts(_) => {
                return Err(StoreError::Damaged("a statement: SQLite has no arrays"));
            }
        };
        added.map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

/// As PostgreSQL takes them.
pub(super) fn for_postgres(values: Vec<Value>) -> Result<PgArguments, StoreError> {
    let mut arguments = PgArguments::default();
    for value in values {
        let added = match value {
            Value::Integer(value) => arguments.add(value),
            Value::Bytes(value) => arguments.add(value),
            Value::Text(value) => arguments.add(value),
            Value::Integers(values) => arguments.add(values),
            Value::ByteStrings(values) => arguments.add(values),
            Value::Texts(values) => arguments.add(values),
        };
        added.map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
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

values! {
    i64 => |value| Self::Integer(Some(value)),
    Option<i64> => |value| Self::Integer(value),
    u32 => |value| Self::Integer(Some(value.into())),
    bool => |value| Self::Integer(Some(value.into())),
    Vec<u8> => |value| Self::Bytes(Some(value)),
    Option<Vec<u8>> => |value| Self::Bytes(value),
    &[u8] => |value| Self::Bytes(Some(value.to_vec())),
    [u8; 16] => |value| Self::Bytes(Some(value.to_vec())),
    [u8; 32] => |value| Self::Bytes(Some(value.to_vec())),
    &str => |value| Self::Text(Some(value.to_owned())),
    Option<String> => |value| Self::Text(value),
    Vec<i64> => |values| Self::Integers(values.into_iter().map(Some).collect()),
}
