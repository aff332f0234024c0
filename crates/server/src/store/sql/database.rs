//! Where the database is, and how a connection to it is made.

use std::path::Path;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

use super::Dialect;
use super::connection::Connection;
use crate::store::StoreError;

const BUSY: Duration = Duration::from_secs(5);
const STATEMENTS_KEPT: usize = 512;
const READER_ROWS_AHEAD: usize = 128;

/// Pages that the writer keeps, in KiB: it comes back to the same ones from all over the tables.
const WRITER_CACHE_KIB: u32 = 64 << 10;

/// Pages that each reader keeps, in KiB: a long list passes every page once, and the system's cache has them anyway.
const READER_CACHE_KIB: u32 = 1 << 10;

/// How connections are made.
#[derive(Debug, Clone)]
pub(in crate::store) enum Database {
    Sqlite(Box<SqliteConnectOptions>),
    Postgres(Box<PgConnectOptions>),
}

impl Database {
    /// The file at `path`, made with pages of `page_bytes` if it is absent. Without `is_durable` a commit survives the end
    /// of the process, and not the loss of power.
    pub(in crate::store) fn file(path: &Path, page_bytes: u32, is_durable: bool) -> Self {
        let synchronous = if is_durable { SqliteSynchronous::Full } else { SqliteSynchronous::Off };
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .page_size(page_bytes)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(synchronous)
            .busy_timeout(BUSY)
            .statement_cache_capacity(STATEMENTS_KEPT)
            .pragma("wal_autocheckpoint", "4000")
            .pragma("cache_size", cache_size(WRITER_CACHE_KIB))
            .pragma("temp_store", "memory")
            .foreign_keys(false);
        Self::Sqlite(Box::new(options))
    }

    /// The server at `url`.
    pub(in crate::store) fn server(url: &str) -> Result<Self, StoreError> {
        let options: PgConnectOptions = url.parse()?;
        Ok(Self::Postgres(Box::new(options.application_name("overnight"))))
    }

    /// The same for those who only read.
    pub(in crate::store) fn for_reading(&self) -> Self {
        match self {
            Self::Sqlite(options) => {
                let options = (**options).clone().read_only(true).create_if_missing(false);
                let options = options.row_buffer_size(READER_ROWS_AHEAD);
                Self::Sqlite(Box::new(options.pragma("cache_size", cache_size(READER_CACHE_KIB))))
            }
            Self::Postgres(_) => self.clone(),
        }
    }

    pub(in crate::store) const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// A new connection.
    pub(in crate::store) async fn connect(&self) -> Result<Connection, StoreError> {
        Ok(match self {
            Self::Sqlite(options) => Connection::Sqlite(options.connect().await?),
            Self::Postgres(options) => Connection::Postgres(options.connect().await?),
        })
    }

    #[cfg(test)]
    pub(super) fn in_memory() -> Self {
        Self::Sqlite(Box::new(SqliteConnectOptions::new().in_memory(true)))
    }
}

/// In pages if positive, in KiB if negative.
fn cache_size(kib: u32) -> String {
    format!("-{kib}")
}
