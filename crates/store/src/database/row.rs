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

use crate::StoreError;
use crate::database::decryption::{decrypted, names_object};
use crate::database::page::{ColumnValue, Page};
use crate::object_store::Reference;

pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PostgresRow),
}

pub(crate) struct PostgresRow {
    row: PgRow,
    /// Values not stored as they are, by column.
    marked: Vec<(usize, Marked)>,
}

/// A value that is not stored as it is.
enum Marked {
    Value(Vec<u8>),
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

pub(crate) struct SqliteRow {
    page: Arc<Page>,
    number: usize,
    /// The column after the last one read: columns are read in about their order.
    expected: AtomicUsize,
}

pub(crate) trait FromColumn<'r>: Sized {
    /// `None` if the column holds another kind.
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
    /// Decrypts encrypted values.
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
    pub(crate) fn get<'r, T: FromColumn<'r>>(&'r self, column: &'static str) -> Result<T, StoreError> {
        self.value(column).and_then(T::from_column).ok_or_else(|| StoreError::DamagedColumn(column))
    }

    fn value(&self, column: &'static str) -> Option<ColumnValue<'_>> {
        match self {
            Self::Sqlite(row) => row.value(column),
            Self::Postgres(row) => row.value(column),
        }
    }

    /// `None` if the row holds the value itself.
    pub(crate) fn reference(&self, column: &'static str) -> Result<Option<Reference>, StoreError> {
        match self.value(column) {
            Some(ColumnValue::Reference(stored)) => {
                Reference::read(stored).map(Some).ok_or(StoreError::DamagedColumn(column))
            }
            _ => Ok(None),
        }
    }

    /// The bytes of a column, if any. On SQLite they keep the whole page in memory, so pass them on soon.
    pub(crate) fn share(&self, column: &'static str) -> Result<Option<Bytes>, StoreError> {
        let bytes = self.get::<Option<&[u8]>>(column)?;
        Ok(bytes.map(|bytes| match self {
            Self::Sqlite(row) => row.page.share(bytes),
            Self::Postgres(_) => Bytes::copy_from_slice(bytes),
        }))
    }
}

/// `None` for a type that we do not use.
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

/// Declares how columns of one kind are read.
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
