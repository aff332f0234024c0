//! A connection to PostgreSQL, directly or through a pooler.

use sqlx::postgres::PgRow;
use sqlx::{Connection as _, Executor, PgConnection};

use super::statement::Statement;
use crate::store::StoreError;

/// A connection, on which one thing is done at a time.
///
/// A pooler that lends a server for one transaction at a time (PgBouncer's transaction mode) keeps no statement for the
/// next. Through such a one every statement is prepared anew, without a name, and in the transaction that runs it.
#[derive(Debug)]
pub(in crate::store) struct Postgres {
    connection: PgConnection,
    is_lent_by_transaction: bool,
    in_transaction: bool,
}

impl Postgres {
    pub(super) const fn new(connection: PgConnection, is_lent_by_transaction: bool) -> Self {
        Self { connection, is_lent_by_transaction, in_transaction: false }
    }

    pub(super) async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        let alone = self.begin_if_alone().await?;
        let query = statement.for_postgres()?.persistent(!self.is_lent_by_transaction);
        let touched = query.execute(&mut self.connection).await?.rows_affected();
        self.commit_if(alone).await?;
        Ok(touched)
    }

    pub(super) async fn fetch(&mut self, statement: Statement) -> Result<Vec<PgRow>, StoreError> {
        let alone = self.begin_if_alone().await?;
        let query = statement.for_postgres()?.persistent(!self.is_lent_by_transaction);
        let rows = query.fetch_all(&mut self.connection).await?;
        self.commit_if(alone).await?;
        Ok(rows)
    }

    /// Runs several statements without values; the row that the last returns, if it does.
    pub(super) async fn run(&mut self, text: &'static str) -> Result<Option<PgRow>, StoreError> {
        // A commit that fails ends the transaction too.
        match text.split_whitespace().next() {
            Some("BEGIN") => self.in_transaction = true,
            Some("COMMIT" | "ROLLBACK") => self.in_transaction = false,
            _ => {}
        }
        Ok(self.connection.fetch_optional(sqlx::raw_sql(text)).await?)
    }

    pub(super) async fn close(self) -> Result<(), StoreError> {
        Ok(self.connection.close().await?)
    }

    /// The connection itself, for what happens once.
    pub(in crate::store) const fn inner(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    async fn begin_if_alone(&mut self) -> Result<bool, StoreError> {
        let alone = self.is_lent_by_transaction && !self.in_transaction;
        if alone {
            self.run("BEGIN").await?;
        }
        Ok(alone)
    }

    async fn commit_if(&mut self, alone: bool) -> Result<(), StoreError> {
        if alone {
            self.run("COMMIT").await?;
        }
        Ok(())
    }
}
