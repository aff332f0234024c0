//! Brings the schema up to date, one numbered file after another, each in a transaction. A number does the same in both databases. The
//! first file creates the whole schema of the first release.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rusqlite::TransactionBehavior;
use sqlx::{Connection as _, Executor, PgConnection, Row as _};

use crate::database::{Connection, Dialect, statements};
use crate::error::{StoreError, Trouble};

statements! {
    /// A view of the database may be named as the table `pragma_user_version`, and no view as the pragma.
    VERSION_OF_FILE = { sqlite: "PRAGMA user_version" };
    /// Another program may have a table of this name in another schema of the search path.
    IS_VERSIONED = {
        postgres: "SELECT count(*) = 2 AS is_there FROM pg_attribute WHERE attrelid = to_regclass('schema_version')
            AND attname IN ('version', 'applied_at')",
    };
    VERSION_OF_SERVER = { postgres: "SELECT coalesce(max(version), 0) AS version FROM schema_version" };
}

/// In the header of our files, `OvNt`: <https://www.sqlite.org/pragma.html#pragma_application_id>.
pub(crate) const APPLICATION_ID: i64 = 0x4F76_4E74;

#[derive(Clone, Copy)]
pub(crate) struct Migration {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// The first file creates a whole schema.
#[derive(Clone, Copy)]
pub(crate) struct Migrations {
    /// The number of the first file. Lower schemas were never released.
    pub(crate) first: i64,
    pub(crate) files: &'static [Migration],
}

macro_rules! migration {
    ($file:literal) => {
        Migration {
            sqlite: include_str!(concat!("../../migrations/sqlite/", $file)),
            postgres: include_str!(concat!("../../migrations/postgres/", $file)),
        }
    };
}

pub(crate) const OURS: Migrations = Migrations { first: 45, files: &[migration!("0045_schema.sql")] };

pub(crate) const NEWEST: i64 = OURS.newest();

/// The oldest schema whose exports can be imported: it has the tables of the newest, and all columns but those that `Table::added` counts.
pub(crate) const EXPORTED_MIN: i64 = 40;

impl Migrations {
    pub(crate) const fn newest(&self) -> i64 {
        self.first + self.files.len() as i64 - 1
    }

    /// Refuses a schema that these files cannot bring up to date.
    pub(crate) const fn check(&self, found: i64) -> Result<(), StoreError> {
        match found {
            0 => Ok(()),
            _ if found > self.newest() => Err(StoreError::Newer { found, known: self.newest() }),
            _ if found < EXPORTED_MIN => Err(StoreError::Unreleased { found, exported: EXPORTED_MIN }),
            _ if found < self.first => Err(StoreError::Unreleased { found, exported: found }),
            _ => Ok(()),
        }
    }

    /// An empty SQLite database with the schema of this number.
    pub(crate) fn in_memory(&self, number: i64) -> Result<rusqlite::Connection, StoreError> {
        let mut connection = rusqlite::Connection::open_in_memory()?;
        for (number, file) in (self.first..=number).zip(self.files) {
            run_on_sqlite(&mut connection, number, file.sqlite)?;
        }
        Ok(connection)
    }

    /// Runs missing files; returns the number found and the number now. A refused database is not changed.
    pub(crate) async fn run(&self, connection: &mut Connection) -> Result<(i64, i64), StoreError> {
        let found = version(connection).await?;
        self.check(found)?;
        for (number, file) in (self.first..).zip(self.files).skip_while(|(number, _)| *number <= found) {
            match connection {
                Connection::Sqlite(connection) => run_on_sqlite(connection.inner(), number, file.sqlite)?,
                Connection::SqliteThread(_) => return Err(READ_ONLY),
                Connection::Postgres(connection) => {
                    run_on_postgres(connection.inner(), number, file.postgres).await?;
                }
            }
        }
        Ok((found, self.newest()))
    }
}

/// Tables and views that the migrations create on PostgreSQL.
pub(super) fn names() -> BTreeSet<&'static str> {
    const MAKING: [&str; 3] = ["CREATE TABLE ", "CREATE VIEW ", "CREATE OR REPLACE VIEW "];
    let lines = OURS.files.iter().flat_map(|migration| migration.postgres.lines());
    let made = lines.filter_map(|line| MAKING.iter().find_map(|making| line.strip_prefix(making)));
    let names = made.filter_map(|rest| rest.split([' ', '(']).next());
    names.chain(["schema_version"]).collect()
}

/// Readers change no schema.
const READ_ONLY: StoreError = StoreError::Damaged("a read-only connection");

/// The newest migration of the database; 0 if it is empty.
pub(crate) async fn version(connection: &mut Connection) -> Result<i64, StoreError> {
    match connection.dialect() {
        Dialect::Sqlite => connection.fetch_one(VERSION_OF_FILE.unbound()).await?.get("user_version"),
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
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    Ok(tx.commit()?)
}

/// Attempts at a migration while other nodes lock the schema.
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
        for name in ["schema_version", "requests", "price_points", "current_requests"] {
            assert!(names.contains(name), "{name}");
        }
        assert!(!names.contains("requests_by_account"), "an index");
    }
}
