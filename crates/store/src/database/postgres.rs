//! A connection to PostgreSQL, directly or through a pooler.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_base::encryption::Keyring;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Connection as _, Executor, PgConnection};

use crate::StoreError;
use crate::database::Dialect;
use crate::database::row::{PostgresRow, Row};
use crate::database::server::{Server, within};
use crate::database::statement::Statement;
use crate::database::value::arguments;

/// Rows are found by keys: a plan that was made while a table was empty must not read the whole table later. With a list it would compare each
/// row of the table with each row of the list, so in transactions, which write lists, each execution has its own plan. The server ends a
/// statement before its client gives up.
pub(super) const KEYS_ON_POSTGRES: &str = "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; \
    SET LOCAL jit = off; SET LOCAL statement_timeout = '50s'; SET LOCAL plan_cache_mode = force_custom_plan";

/// The same for a whole session, which keeps the plans of statements without a list.
const KEYS_OF_SESSION: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; \
    SET statement_timeout = '50s'";

/// Limit for the answer to a statement: the server or the way to it may be gone.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Enough to read billions of rows.
const WHOLE_TABLES_MAX: Duration = Duration::from_secs(86_400);

/// A connection, which runs one thing at a time. Its work is boxed: otherwise every caller would be compiled with all of the driver's
/// states inside its own.
///
/// A pooler that lends a server for one transaction at a time (PgBouncer's transaction mode) keeps no statement for the next. Through such
/// a pooler every statement is prepared anew, without a name, in the transaction that runs it.
#[derive(Debug)]
pub(crate) struct Postgres {
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
        let keeps_plan = !self.is_lent_by_transaction && (self.in_transaction || !statement.has_list());
        Ok(sqlx::query_with(AssertSqlSafe(text), arguments).persistent(keeps_plan))
    }

    pub(super) fn run<'p>(&'p mut self, text: &'p str) -> BoxFuture<'p, Result<(), StoreError>> {
        self.note(text);
        // The text is ours, and has no values.
        let work = self.connection.execute(sqlx::raw_sql(AssertSqlSafe(text)));
        within(self.answer_max, work).map(|outcome| outcome.map(drop)).boxed()
    }

    /// The current transaction works on whole tables, and may take long.
    pub(super) async fn take_time(&mut self) -> Result<(), StoreError> {
        self.answer_max = WHOLE_TABLES_MAX;
        let text = "SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on; \
            SET LOCAL statement_timeout = 0";
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

    pub(crate) const fn inner(&mut self) -> &mut PgConnection {
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
