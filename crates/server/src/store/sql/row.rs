//! A row of either database.

use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Postgres, Row as _, Sqlite, Type};

use crate::store::StoreError;

/// What a statement returned.
pub(in crate::store) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

/// What can be read from a column of either.
pub(in crate::store) trait Column<'r>:
    Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>
{
}

impl<'r, T> Column<'r> for T where T: Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>
{}

impl Row {
    /// The value of a column, counted from 0.
    pub(in crate::store) fn get<'r, T: Column<'r>>(&'r self, column: usize) -> Result<T, StoreError> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        })
    }

    /// A number that is 0 or 1.
    pub(in crate::store) fn flag(&self, column: usize) -> Result<bool, StoreError> {
        Ok(self.get::<i64>(column)? != 0)
    }
}
