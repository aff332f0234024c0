//! A transaction that cannot be half right: its first error poisons it, and its commit then rolls back and says so.

use sqlx::{Executor, Row as _};

use super::Dialect;
use super::connection::Connection;
use super::row::Row;
use super::statement::Statement;
use crate::store::error::StoreError;

/// PostgreSQL's number of a transaction, by which its outcome can be asked for when the connection is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct TransactionId(i64);

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Outcome {
    /// It is durable.
    Committed,
    /// Nothing of it was done.
    RolledBack,
    /// Its end has not been noticed yet.
    UnderWay,
}

/// Why a commit brought no answer that can be believed.
#[derive(Debug)]
pub(in crate::store) enum CommitError {
    /// Nothing was done.
    NotDone(StoreError),
    /// The connection was lost on the way: [`outcome_of`] tells, once the database answers again.
    Unknown(TransactionId, StoreError),
}

impl CommitError {
    /// What the database said, of a transaction that may have been done or not.
    pub(in crate::store) fn into_inner(self) -> StoreError {
        match self {
            Self::NotDone(error) | Self::Unknown(_, error) => error,
        }
    }
}

/// An open write transaction. What is neither committed nor rolled back leaves its connection unusable.
pub(in crate::store) struct Tx<'c> {
    connection: &'c mut Connection,
    id: Option<TransactionId>,
    poisoned: bool,
}

/// Rows are found by keys: a plan made while a table was still empty must not read the whole of it once it is not. A
/// process that was stopped in the middle of a transaction must not keep its locks.
const BEGIN_ON_POSTGRES: &str = "BEGIN ISOLATION LEVEL READ COMMITTED;
     SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
     SET LOCAL jit = off; SET LOCAL idle_in_transaction_session_timeout = '5s'; SET LOCAL lock_timeout = '10s';
     SELECT pg_current_xact_id()::text::bigint";

impl<'c> Tx<'c> {
    /// Begins to write. SQLite's lock is taken at once, so that no later statement can fail for want of it.
    pub(in crate::store) async fn begin(connection: &'c mut Connection) -> Result<Self, StoreError> {
        let id = match connection {
            Connection::Sqlite(connection) => {
                connection.execute(sqlx::raw_sql("BEGIN IMMEDIATE")).await?;
                None
            }
            Connection::Postgres(connection) => {
                let row = connection.run(BEGIN_ON_POSTGRES).await?;
                let id = row.map(|row| row.try_get(0)).transpose()?;
                Some(TransactionId(id.ok_or(StoreError::Damaged("the number of a transaction"))?))
            }
        };
        Ok(Self { connection, id, poisoned: false })
    }

    pub(in crate::store) const fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    /// Runs a statement; the number of rows it touched.
    pub(in crate::store) async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        let outcome = self.connection.execute(statement).await;
        self.watch(outcome)
    }

    /// Runs a statement; the rows it returned.
    pub(in crate::store) async fn fetch(&mut self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let outcome = self.connection.fetch(statement).await;
        self.watch(outcome)
    }

    /// Makes it durable, or rolls it back where any statement failed.
    pub(in crate::store) async fn commit(self) -> Result<(), CommitError> {
        if self.poisoned {
            self.connection.execute_all("ROLLBACK").await.map_err(CommitError::NotDone)?;
            let why = "a statement of the transaction had failed";
            return Err(CommitError::NotDone(StoreError::Refused(why.into())));
        }
        match (self.connection.execute_all("COMMIT").await, self.id) {
            (Ok(()), _) => Ok(()),
            (Err(error), Some(id)) if error.is_connection_lost() => Err(CommitError::Unknown(id, error)),
            (Err(error), _) => {
                // It may have been rolled back already, which is all that this is for.
                let _ = self.connection.execute_all("ROLLBACK").await;
                Err(CommitError::NotDone(error))
            }
        }
    }

    /// Undoes it.
    pub(in crate::store) async fn rollback(self) -> Result<(), StoreError> {
        self.connection.execute_all("ROLLBACK").await
    }

    fn watch<T>(&mut self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        self.poisoned |= outcome.is_err();
        outcome
    }
}

/// What became of a transaction whose commit was not answered.
pub(in crate::store) async fn outcome_of(
    connection: &mut Connection,
    TransactionId(id): TransactionId,
) -> Result<Outcome, StoreError> {
    let text = "SELECT pg_xact_status(?::bigint::text::xid8)";
    let row = match connection.fetch_one(super::sql(text).bind(id)).await {
        Err(error) if error.is_of_the_future() => return Ok(Outcome::RolledBack),
        row => row?,
    };
    Ok(match row.get::<Option<&str>>(0)? {
        Some("committed") => Outcome::Committed,
        Some("in progress") => Outcome::UnderWay,
        _ => Outcome::RolledBack,
    })
}
