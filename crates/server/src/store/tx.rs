//! A transaction that cannot be half right: its first error poisons it, and its commit then rolls back and says so.

use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Connection, Sqlite, SqliteConnection, Transaction};

use super::error::StoreError;

/// A query with its bound values.
pub(super) type Statement<'q> = Query<'q, Sqlite, SqliteArguments>;

/// An open write transaction.
pub(super) struct Tx<'c> {
    inner: Transaction<'c, Sqlite>,
    poisoned: bool,
}

impl<'c> Tx<'c> {
    /// Takes the write lock at once, so that no later statement can fail for want of it.
    pub(super) async fn begin(connection: &'c mut SqliteConnection) -> Result<Self, StoreError> {
        let inner = connection.begin_with("BEGIN IMMEDIATE").await?;
        Ok(Self { inner, poisoned: false })
    }

    /// Runs a statement; the number of rows it touched.
    pub(super) async fn execute(&mut self, statement: Statement<'_>) -> Result<u64, StoreError> {
        let outcome = statement.execute(&mut *self.inner).await;
        Ok(self.watch(outcome)?.rows_affected())
    }

    /// Runs a statement; the rows it returned.
    pub(super) async fn fetch(&mut self, statement: Statement<'_>) -> Result<Vec<SqliteRow>, StoreError> {
        let outcome = statement.fetch_all(&mut *self.inner).await;
        self.watch(outcome)
    }

    /// Makes it durable, or rolls it back where any statement failed.
    pub(super) async fn commit(self) -> Result<(), StoreError> {
        if self.poisoned {
            self.inner.rollback().await?;
            return Err(StoreError::Refused("a statement of the transaction had failed".into()));
        }
        Ok(self.inner.commit().await?)
    }

    /// Undoes it.
    pub(super) async fn rollback(self) -> Result<(), StoreError> {
        Ok(self.inner.rollback().await?)
    }

    fn watch<T>(&mut self, outcome: Result<T, sqlx::Error>) -> Result<T, StoreError> {
        outcome.map_err(|error| {
            self.poisoned = true;
            StoreError::Database(error)
        })
    }
}
