//! A connection to either database.

use sqlx::{Connection as _, Executor, SqliteConnection};

use super::Dialect;
use super::postgres::Postgres;
use super::row::Row;
use super::statement::Statement;
use crate::store::StoreError;

/// A connection, on which one thing is done at a time.
#[derive(Debug)]
pub(in crate::store) enum Connection {
    Sqlite(SqliteConnection),
    Postgres(Postgres),
}

impl Connection {
    pub(in crate::store) const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Runs a statement; the number of rows it touched.
    pub(in crate::store) async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        Ok(match self {
            Self::Sqlite(connection) => statement.for_sqlite()?.execute(connection).await?.rows_affected(),
            Self::Postgres(connection) => connection.execute(statement).await?,
        })
    }

    /// Runs several statements without values or answers.
    pub(in crate::store) async fn execute_all(&mut self, text: &'static str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => connection.execute(sqlx::raw_sql(text)).await.map(drop)?,
            Self::Postgres(connection) => connection.run(text).await?,
        }
        Ok(())
    }

    /// From here on every read sees the same moment, until a `ROLLBACK`.
    pub(in crate::store) async fn begin_snapshot(&mut self) -> Result<(), StoreError> {
        let text = match self.dialect() {
            Dialect::Sqlite => "BEGIN",
            Dialect::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        self.execute_all(text).await?;
        self.take_time().await
    }

    /// What the transaction under way does concerns whole tables: it is planned so, and may take long.
    pub(in crate::store) async fn take_time(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(connection) => connection.take_time().await,
        }
    }

    /// Runs a statement; the rows it returned.
    pub(in crate::store) async fn fetch(&mut self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        Ok(match self {
            Self::Sqlite(connection) => {
                let rows = statement.for_sqlite()?.fetch_all(connection).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Self::Postgres(connection) => {
                connection.fetch(statement).await?.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    /// Runs a statement that returns a row; the first.
    pub(in crate::store) async fn fetch_one(&mut self, statement: Statement) -> Result<Row, StoreError> {
        let row = self.fetch(statement).await?.into_iter().next();
        row.ok_or(StoreError::Database(sqlx::Error::RowNotFound))
    }

    /// Says goodbye, which the other end does not wait for.
    pub(in crate::store) async fn close(self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => connection.close().await?,
            Self::Postgres(connection) => connection.close().await?,
        }
        Ok(())
    }
}
