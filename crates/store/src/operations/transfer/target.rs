//! The empty store that an import fills, in one transaction.

use std::path::PathBuf;

use crate::audit_log;
use crate::database::{Connection, Dialect, Value, settings, sql, statements};
use crate::installation::{self, Purpose};
use crate::operations::audit;
use crate::operations::transfer::errors::ImportError;
use crate::operations::transfer::tables::{TABLES, Table};
use crate::request_blocks;
use crate::{FolderLock, StoreError, StoreOptions, schema};

/// Written by every opening of a store, and replaced by an import.
const MADE_BY_OPENING: [&str; 3] = ["settings", "models", "price_points"];

/// The transaction waits for a file that may arrive slowly. Services that start meanwhile wait for its end.
const BEGIN_ON_POSTGRES: &str = "BEGIN ISOLATION LEVEL READ COMMITTED;
    SET LOCAL lock_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = 0;
    LOCK TABLE settings, accounts, models, price_points, requests, nodes IN EXCLUSIVE MODE";

statements! {
    /// A node with a heartbeat of the last minute, by the database's clock.
    SERVING = {
        postgres: "SELECT coalesce(nullif(name, ''), 'a service') AS name FROM nodes
            WHERE pg_catalog.to_timestamp(heartbeat_at / 1000.0) > clock_timestamp() - interval '60 seconds' LIMIT 1",
    };
}

/// Statistics to plan the audit's joins: the new rows are not counted yet.
const ANALYZE: &str = "ANALYZE accounts, requests, request_states, queue, results, batches, batch_members, batch_ends, request_blocks, ledger, spend, spend_by_key, events, deliveries";

/// An unserved store.
pub(super) struct Target {
    connection: Connection,
    operator: Option<String>,
    folder: PathBuf,
    _lock: Option<FolderLock>,
}

impl Target {
    /// With the newest schema; creates it if absent.
    pub(super) async fn open(options: &StoreOptions) -> Result<Self, StoreError> {
        let (connection, lock) = schema::open_alone(options, Purpose::Fill).await?;
        let (operator, folder) = (options.operator.clone(), options.folder.clone());
        Ok(Self { connection, operator, folder, _lock: lock })
    }

    pub(super) const fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    /// Begins the transaction, if the store may be filled.
    pub(super) async fn begin(&mut self) -> Result<(), ImportError> {
        match self.dialect() {
            Dialect::Sqlite => self.connection.execute_all("BEGIN IMMEDIATE").await?,
            Dialect::Postgres => {
                // Before its tables are locked: a service must not wait for an import that is refused.
                self.refuse_served().await?;
                self.connection.execute_all(BEGIN_ON_POSTGRES).await?;
                self.connection.take_time().await?;
                self.refuse_served().await?;
            }
        }
        for table in TABLES.iter().filter(|table| !MADE_BY_OPENING.contains(&table.name)) {
            if !self.connection.fetch(sql(table.statements().any)).await?.is_empty() {
                return Err(ImportError::NotEmpty { table: table.name });
            }
        }
        self.connection
            .execute_all("DELETE FROM settings; DELETE FROM models; DELETE FROM price_points")
            .await?;
        Ok(())
    }

    async fn refuse_served(&mut self) -> Result<(), ImportError> {
        let Some(row) = self.connection.fetch(SERVING.unbound()).await?.into_iter().next() else {
            return Ok(());
        };
        Err(ImportError::Served { node: row.get::<String>("name").map_err(ImportError::Store)? })
    }

    pub(super) async fn insert(
        &mut self,
        table: &'static Table,
        rows: Vec<Vec<Value>>,
    ) -> Result<(), StoreError> {
        let insert = table.statements().insert.over([], rows.into_iter().flatten().collect());
        self.connection.execute(insert).await.map(drop)
    }

    /// Commits if all rules hold; notes the operator, if any, with the number of `rows`.
    pub(super) async fn commit(&mut self, rows: u64, now: i64) -> Result<(), ImportError> {
        self.connection.execute(request_blocks::FILL.unbound()).await?;
        if self.dialect() == Dialect::Postgres {
            self.connection.execute_all(ANALYZE).await?;
            for renumber in TABLES.iter().filter_map(|table| table.statements().renumber) {
                self.connection.fetch_one(sql(renumber)).await?;
            }
        }
        if let Some(operator) = &self.operator {
            audit_log::note_import_on(&mut self.connection, operator, rows, now).await?;
        }
        let checks = audit::recount(&mut self.connection).await?;
        if let Some(check) = checks.iter().find(|check| check.breaches > 0) {
            return Err(ImportError::Unsound { rule: check.rule, breaches: check.breaches });
        }
        if self.dialect() == Dialect::Sqlite
            && let Some(secret) = settings::find_secret(&mut self.connection).await?
        {
            // Before the database becomes another.
            installation::note(&self.folder, &secret)?;
        }
        self.connection.execute_all("COMMIT").await?;
        Ok(())
    }

    /// Uncommitted work is undone.
    pub(super) async fn close(self) -> Result<(), StoreError> {
        self.connection.close().await
    }
}
