//! A connection to PostgreSQL, directly or through a pooler.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_base::encryption::Keyring;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Connection as _, Executor, PgConnection};

use crate::store::StoreError;
use crate::store::database::Dialect;
use crate::store::database::row::{PostgresRow, Row};
use crate::store::database::server::{Server, within};
use crate::store::database::statement::Statement;
use crate::store::database::value::arguments;

/// Rows are found by keys: a plan that was made while a table was still empty must not read the whole of it once it is
/// not.
pub(super) const KEYS_ON_POSTGRES: &str = "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL jit = off";

/// The same for all that a connection does.
const KEYS_OF_SESSION: &str =
    "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/// A statement that is not answered for so long is not waited for: its server is gone, or the way to it.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Billions of rows are read in less.
const WHOLE_TABLES_MAX: Duration = Duration::from_secs(86_400);

/// A connection, on which one thing is done at a time. What it does is boxed: otherwise every caller would be compiled with
/// all of the driver's states inside its own.
///
/// A pooler that lends a server for one transaction at a time (PgBouncer's transaction mode) keeps no statement for the
/// next. Through such a one every statement is prepared anew, without a name, and in the transaction that runs it.
#[derive(Debug)]
pub(in crate::store) struct Postgres {
    connection: PgConnection,
    is_lent_by_transaction: bool,
    in_transaction: bool,
    answer_max: Duration,
    keyring: Arc<Keyring>,
}

impl Postgres {
    pub(super) fn connect(server: &Server) -> BoxFuture<'_, Result<Self, StoreError>> {
        async move {
            let connection = server.connect().await?;
            let is_lent_by_transaction = server.is_lent_by_transaction;
            let mut connected = Self {
                connection,
                is_lent_by_transaction,
                in_transaction: false,
                answer_max: ANSWER_MAX,
                keyring: Arc::clone(server.keyring()),
            };
            if !is_lent_by_transaction {
                connected.run(KEYS_OF_SESSION).await?;
            }
            Ok(connected)
        }
        .boxed()
    }

    pub(super) fn execute(&mut self, statement: Statement) -> BoxFuture<'_, Result<u64, StoreError>> {
        async move {
            let alone = self.begin_if_alone().await?;
            let query = self.query(&statement)?;
            let touched = within(self.answer_max, query.execute(&mut self.connection)).await?.rows_affected();
            statement.note(usize::try_from(touched).unwrap_or(usize::MAX), || None);
            self.commit_if(alone).await?;
            Ok(touched)
        }
        .boxed()
    }

    pub(super) fn fetch(&mut self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, StoreError>> {
        async move {
            let alone = self.begin_if_alone().await?;
            let query = self.query(&statement)?;
            let rows = within(self.answer_max, query.fetch_all(&mut self.connection)).await?;
            statement.note(rows.len(), || None);
            self.commit_if(alone).await?;
            let row = |row| Row::Postgres(PostgresRow::new(row, &self.keyring));
            Ok(rows.into_iter().map(row).collect())
        }
        .boxed()
    }

    fn query(
        &self,
        statement: &Statement,
    ) -> Result<Query<'static, sqlx::Postgres, PgArguments>, StoreError> {
        let text = statement.text(Dialect::Postgres).into_owned();
        let arguments = arguments(&statement.values_on_postgres())?;
        Ok(sqlx::query_with(AssertSqlSafe(text), arguments).persistent(!self.is_lent_by_transaction))
    }

    /// Runs several statements without values or answers.
    pub(super) fn run<'p>(&'p mut self, text: &'p str) -> BoxFuture<'p, Result<(), StoreError>> {
        self.note(text);
        // The text is ours, and has no values.
        let work = self.connection.execute(sqlx::raw_sql(AssertSqlSafe(text)));
        within(self.answer_max, work).map(|outcome| outcome.map(drop)).boxed()
    }

    /// What the transaction under way does concerns whole tables, and takes the time that it takes.
    pub(super) async fn take_time(&mut self) -> Result<(), StoreError> {
        self.answer_max = WHOLE_TABLES_MAX;
        let text =
            "SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on";
        self.run(text).await
    }

    /// A commit that fails ends the transaction too.
    fn note(&mut self, text: &str) {
        match text.split([' ', ';']).next() {
            Some("BEGIN") => self.in_transaction = true,
            Some("COMMIT" | "ROLLBACK") => {
                (self.in_transaction, self.answer_max) = (false, ANSWER_MAX);
            }
            _ => {}
        }
    }

    pub(super) fn close(self) -> BoxFuture<'static, Result<(), StoreError>> {
        self.connection.close().map(|closed| Ok(closed?)).boxed()
    }

    /// The connection itself, for what happens once.
    pub(in crate::store) const fn inner(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    async fn begin_if_alone(&mut self) -> Result<bool, StoreError> {
        let alone = self.is_lent_by_transaction && !self.in_transaction;
        if alone {
            self.run(&["BEGIN", KEYS_ON_POSTGRES].join(";")).await?;
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
