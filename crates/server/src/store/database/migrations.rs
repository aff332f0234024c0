//! Brings the schema up to date, one numbered file after the other, each in a transaction. A number does the same in both
//! databases.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rusqlite::TransactionBehavior;
use sqlx::{Connection as _, Executor, PgConnection, Row as _};

use crate::store::database::{Connection, Dialect, statements};
use crate::store::error::{StoreError, Trouble};

statements! {
    VERSION_OF_FILE = { sqlite: "SELECT user_version AS version FROM pragma_user_version" };
    /// Another program may have a table of this name, in a schema that the search path has too.
    IS_VERSIONED = {
        postgres: "SELECT count(*) = 2 AS is_there FROM pg_attribute WHERE attrelid = to_regclass('schema_version')
            AND attname IN ('version', 'applied_at')",
    };
    VERSION_OF_SERVER = { postgres: "SELECT coalesce(max(version), 0) AS version FROM schema_version" };
}

/// What the header of a file of ours names, `OvNt`: <https://www.sqlite.org/pragma.html#pragma_application_id>. Files of the first
/// releases name nothing.
pub(super) const APPLICATION_ID: i64 = 0x4F76_4E74;

const APPLICATION: &str = "application_id";

/// One numbered migration, with a text for each database.
struct Migration {
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! migration {
    ($file:literal) => {
        Migration {
            sqlite: include_str!(concat!("../../../migrations/sqlite/", $file)),
            postgres: include_str!(concat!("../../../migrations/postgres/", $file)),
        }
    };
}

/// In order; the first is number 1.
const MIGRATIONS: [Migration; 40] = [
    migration!("0001_requests.sql"),
    migration!("0002_in_progress_in_queue.sql"),
    migration!("0003_nodes.sql"),
    migration!("0004_money.sql"),
    migration!("0005_webhooks.sql"),
    migration!("0006_console.sql"),
    migration!("0007_current_requests.sql"),
    migration!("0008_tries_max.sql"),
    migration!("0009_standard_names.sql"),
    migration!("0010_attempts.sql"),
    migration!("0011_quotas.sql"),
    migration!("0012_indexes.sql"),
    migration!("0013_compression.sql"),
    migration!("0014_segments.sql"),
    migration!("0015_engine_rates.sql"),
    migration!("0016_models_out.sql"),
    migration!("0017_fifo_baseline.sql"),
    migration!("0018_engine_processes.sql"),
    migration!("0019_warnings.sql"),
    migration!("0020_engine_days.sql"),
    migration!("0021_idempotency_keys.sql"),
    migration!("0022_files.sql"),
    migration!("0023_batch_ends.sql"),
    migration!("0024_endpoints.sql"),
    migration!("0025_uploads.sql"),
    migration!("0026_moments.sql"),
    migration!("0027_payment_checks.sql"),
    migration!("0028_operator_views.sql"),
    migration!("0029_access.sql"),
    migration!("0030_account_ends.sql"),
    migration!("0031_audit_log.sql"),
    migration!("0032_traces.sql"),
    migration!("0033_aliases.sql"),
    migration!("0034_monthly_credits.sql"),
    migration!("0035_encryption.sql"),
    migration!("0036_low_credits.sql"),
    migration!("0037_objects.sql"),
    migration!("0038_spend_by_key.sql"),
    migration!("0039_object_views.sql"),
    migration!("0040_unused_objects.sql"),
];

/// The number of the newest migration that this program knows.
pub(in crate::store) const NEWEST: i64 = MIGRATIONS.len() as i64;

/// Runs missing migrations; returns the number found and the number now. A newer database is refused and left
/// unchanged.
pub(in crate::store) async fn run(connection: &mut Connection) -> Result<(i64, i64), StoreError> {
    let found = version(connection).await?;
    if found > NEWEST {
        return Err(StoreError::Newer { found, known: NEWEST });
    }
    for (number, migration) in (1i64..).zip(&MIGRATIONS).skip_while(|(number, _)| *number <= found) {
        match connection {
            Connection::Sqlite(connection) => run_on_sqlite(connection.inner(), number, migration.sqlite)?,
            Connection::SqliteThread(_) => return Err(READ_ONLY),
            Connection::Postgres(connection) => {
                run_on_postgres(connection.inner(), number, migration.postgres).await?;
            }
        }
    }
    if let Connection::Sqlite(connection) = connection {
        sign(connection.inner())?;
    }
    Ok((found, NEWEST))
}

/// The names of the tables and views that any migration makes on PostgreSQL.
pub(super) fn names() -> BTreeSet<&'static str> {
    const MAKING: [&str; 3] = ["CREATE TABLE ", "CREATE VIEW ", "CREATE OR REPLACE VIEW "];
    let lines = MIGRATIONS.iter().flat_map(|migration| migration.postgres.lines());
    let made = lines.filter_map(|line| MAKING.iter().find_map(|making| line.strip_prefix(making)));
    let names = made.filter_map(|rest| rest.split([' ', '(']).next());
    names.chain(["schema_version"]).collect()
}

/// Writes into a file of an earlier release whose it is.
fn sign(connection: &rusqlite::Connection) -> Result<(), StoreError> {
    let found: i64 = connection.pragma_query_value(None, APPLICATION, |row| row.get(0))?;
    if found != APPLICATION_ID {
        connection.pragma_update(None, APPLICATION, APPLICATION_ID)?;
    }
    Ok(())
}

/// Readers change no schema.
const READ_ONLY: StoreError = StoreError::Damaged("a read-only connection");

/// The number of the newest migration that the database has seen; 0 where it is empty.
pub(in crate::store) async fn version(connection: &mut Connection) -> Result<i64, StoreError> {
    match connection.dialect() {
        Dialect::Sqlite => connection.fetch_one(VERSION_OF_FILE.unbound()).await?.get("version"),
        Dialect::Postgres => {
            if !connection.fetch_one(IS_VERSIONED.unbound()).await?.get::<bool>("is_there")? {
                return Ok(0);
            }
            connection.fetch_one(VERSION_OF_SERVER.unbound()).await?.get("version")
        }
    }
}

fn run_on_sqlite(connection: &mut rusqlite::Connection, number: i64, file: &str) -> Result<(), StoreError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found < number {
        tx.execute_batch(file)?;
        tx.pragma_update(None, "user_version", number)?;
        sign(&tx)?;
    }
    Ok(tx.commit()?)
}

/// The most attempts at a migration while other nodes lock the schema.
const TRIES_MAX: u32 = 60;

/// Nodes that start together wait for each other. The lock timeout keeps a long read from blocking every other node.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7305807); SET LOCAL lock_timeout = '2s';
    CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())";

fn run_on_postgres<'c>(
    connection: &'c mut PgConnection,
    number: i64,
    file: &'static str,
) -> BoxFuture<'c, Result<(), StoreError>> {
    async move {
        for _ in 0..TRIES_MAX {
            match try_on_postgres(connection, number, file).await {
                Err(error) if error.trouble() == Trouble::Again => {
                    tracing::warn!(%error, number, "schema in use; retrying migration");
                    connection.execute(sqlx::raw_sql("SELECT pg_sleep(1)")).await?;
                }
                outcome => return outcome,
            }
        }
        try_on_postgres(connection, number, file).await
    }
    .boxed()
}

async fn try_on_postgres(
    connection: &mut PgConnection,
    number: i64,
    file: &'static str,
) -> Result<(), StoreError> {
    let mut tx = connection.begin().await?;
    tx.execute(sqlx::raw_sql(LOCK)).await?;
    let found =
        sqlx::query("SELECT coalesce(max(version), 0) FROM schema_version").fetch_one(&mut *tx).await?;
    if found.try_get::<i64, _>(0)? < number {
        tx.execute(sqlx::raw_sql(file)).await?;
        sqlx::query("INSERT INTO schema_version (version) VALUES ($1)")
            .bind(number)
            .execute(&mut *tx)
            .await?;
    }
    tx.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_tables_and_views_are_read_from_migrations() {
        let names = names();
        for name in ["schema_version", "requests", "prices", "current_requests"] {
            assert!(names.contains(name), "{name}");
        }
        assert!(!names.contains("requests_by_account"), "an index");
    }
}
