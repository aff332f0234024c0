//! Rows of either database, read by the names of their columns.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use overnight_base::encryption::{Keyring, is_marked};
use overnight_domain::ids::Id;
use overnight_domain::money::Credits;
use overnight_domain::scheduler::{AccountKey, ModelKey};
use sqlx::postgres::{PgRow, PgValueRef};
use sqlx::{Column as _, Decode, Postgres, Row as _, TypeInfo, ValueRef as _};

use crate::object_store::Reference;
use crate::store::StoreError;
use crate::store::database::decryption::{decrypted, names_object};
use crate::store::database::page::{ColumnValue, Page};

pub(in crate::store) enum Row {
    Sqlite(SqliteRow),
    Postgres(PostgresRow),
}

/// A row of a server.
pub(in crate::store) struct PostgresRow {
    row: PgRow,
    /// What was not stored simply as it is, by column.
    marked: Vec<(usize, Marked)>,
}

/// What a value is that is not simply what was stored.
enum Marked {
    Value(Vec<u8>),
    /// The name of an object that holds it.
    Reference(Vec<u8>),
    Unreadable,
}

impl Marked {
    fn read(stored: &[u8], keyring: &Keyring) -> Self {
        if names_object(stored, keyring) {
            return Self::Reference(stored.to_vec());
        }
        decrypted(stored, keyring).map_or(Self::Unreadable, |value| Self::Value(value.into_owned()))
    }
}

/// A row of a page.
pub(in crate::store) struct SqliteRow {
    page: Arc<Page>,
    number: usize,
    /// The column after the one that was read last: columns are read in about their order.
    expected: AtomicUsize,
}

/// What can be read from a column.
pub(in crate::store) trait FromColumn<'r>: Sized {
    /// What stands there; `None` where that is something else.
    fn from_column(value: ColumnValue<'r>) -> Option<Self>;
}

impl SqliteRow {
    pub(super) const fn new(page: Arc<Page>, number: usize) -> Self {
        Self { page, number, expected: AtomicUsize::new(0) }
    }

    fn value(&self, column: &str) -> Option<ColumnValue<'_>> {
        let column = self.page.column(column, self.expected.load(Ordering::Relaxed))?;
        self.expected.store(column + 1, Ordering::Relaxed);
        self.page.value(self.number, column)
    }
}

impl PostgresRow {
    /// The row, with what of it is encrypted as it was.
    pub(super) fn new(row: PgRow, keyring: &Keyring) -> Self {
        let marked = |place: usize| {
            let bytes = row.try_get_raw(place).ok().filter(|value| value.type_info().name() == "BYTEA")?;
            match read_postgres(bytes)? {
                ColumnValue::Bytes(bytes) if is_marked(bytes) => Some((place, Marked::read(bytes, keyring))),
                _ => None,
            }
        };
        let marked = (0..row.len()).filter_map(marked).collect();
        Self { row, marked }
    }

    fn value(&self, column: &str) -> Option<ColumnValue<'_>> {
        if !self.marked.is_empty() {
            let place = self.row.try_column(column).ok()?.ordinal();
            if let Some((_, value)) = self.marked.iter().find(|(marked, _)| *marked == place) {
                return match value {
                    Marked::Value(bytes) => Some(ColumnValue::Bytes(bytes)),
                    Marked::Reference(bytes) => Some(ColumnValue::Reference(bytes)),
                    Marked::Unreadable => None,
                };
            }
        }
        self.row.try_get_raw(column).ok().and_then(read_postgres)
    }
}

impl Row {
    /// The value of the column of this name.
    pub(in crate::store) fn get<'r, T: FromColumn<'r>>(
        &'r self,
        column: &'static str,
    ) -> Result<T, StoreError> {
        self.value(column).and_then(T::from_column).ok_or_else(|| StoreError::DamagedColumn(column))
    }

    fn value(&self, column: &'static str) -> Option<ColumnValue<'_>> {
        match self {
            Self::Sqlite(row) => row.value(column),
            Self::Postgres(row) => row.value(column),
        }
    }

    /// The object that holds the value of the column of this name; `None` where the row does.
    pub(in crate::store) fn reference(&self, column: &'static str) -> Result<Option<Reference>, StoreError> {
        match self.value(column) {
            Some(ColumnValue::Reference(stored)) => {
                Reference::read(stored).map(Some).ok_or(StoreError::DamagedColumn(column))
            }
            _ => Ok(None),
        }
    }

    /// The bytes of the column of this name, if there are any. On SQLite they are a part of the page, which they keep in
    /// memory as a whole: for what is passed on at once.
    pub(in crate::store) fn share(&self, column: &'static str) -> Result<Option<Bytes>, StoreError> {
        let bytes = self.get::<Option<&[u8]>>(column)?;
        Ok(bytes.map(|bytes| match self {
            Self::Sqlite(row) => row.page.share(bytes),
            Self::Postgres(_) => Bytes::copy_from_slice(bytes),
        }))
    }
}

/// Reads a value by its type; `None` where we use no such type.
fn read_postgres(value: PgValueRef<'_>) -> Option<ColumnValue<'_>> {
    if value.is_null() {
        return Some(ColumnValue::Null);
    }
    let type_info = value.type_info();
    match type_info.name() {
        "INT8" => <i64 as Decode<Postgres>>::decode(value).ok().map(ColumnValue::Integer),
        "INT4" => <i32 as Decode<Postgres>>::decode(value).ok().map(|it| ColumnValue::Integer(it.into())),
        "BOOL" => <bool as Decode<Postgres>>::decode(value).ok().map(|it| ColumnValue::Integer(it.into())),
        "BYTEA" => <&[u8] as Decode<Postgres>>::decode(value).ok().map(ColumnValue::Bytes),
        _ => <&str as Decode<Postgres>>::decode(value).ok().map(ColumnValue::Text),
    }
}

impl<'r, T: FromColumn<'r>> FromColumn<'r> for Option<T> {
    fn from_column(value: ColumnValue<'r>) -> Option<Self> {
        match value {
            ColumnValue::Null => Some(None),
            value => T::from_column(value).map(Some),
        }
    }
}

/// Declares what is read from a column of one kind, if it is there.
macro_rules! from_columns {
    ($($kind:ident => $read:ty: $make:expr,)*) => {
        $(impl<'r> FromColumn<'r> for $read {
            fn from_column(value: ColumnValue<'r>) -> Option<Self> {
                match value {
                    ColumnValue::$kind(value) => $make(value),
                    _ => None,
                }
            }
        })*
    };
}

from_columns! {
    Integer => i64: Some,
    Integer => u16: |value| Self::try_from(value).ok(),
    Integer => u32: |value| Self::try_from(value).ok(),
    Integer => bool: |value| Some(value != 0),
    Integer => AccountKey: |value| Some(Self(value)),
    Integer => ModelKey: |value| Some(Self(value)),
    Integer => Credits: |value| Some(Self::from_nanos(value)),
    Bytes => &'r [u8]: Some,
    Bytes => Vec<u8>: |value: &[u8]| Some(value.to_vec()),
    Bytes => Bytes: |value| Some(Self::copy_from_slice(value)),
    Bytes => [u8; 32]: |value: &[u8]| value.try_into().ok(),
    Text => &'r str: Some,
    Text => String: |value: &str| Some(value.to_owned()),
}

/// Identifiers are stored as their 16 bytes.
impl<'r, K> FromColumn<'r> for Id<K> {
    fn from_column(value: ColumnValue<'r>) -> Option<Self> {
        match value {
            ColumnValue::Bytes(bytes) => Self::from_bytes(bytes),
            _ => None,
        }
    }
}
