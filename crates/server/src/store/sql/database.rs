//! Where the database is, and how a connection to it is made.

use std::path::Path;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use url::Url;

use super::Dialect;
use super::connection::Connection;
use super::postgres::Postgres;
use crate::store::StoreError;

const BUSY: Duration = Duration::from_secs(5);
const STATEMENTS_KEPT: usize = 512;
const READER_ROWS_AHEAD: usize = 128;

/// What a URL calls the number of statements that a connection keeps.
const STATEMENTS: &str = "statement-cache-capacity";

/// Pages that the writer keeps, in KiB: it comes back to the same ones from all over the tables.
const WRITER_CACHE_KIB: u32 = 64 << 10;

/// Pages that each reader keeps, in KiB: a long list passes every page once, and the system's cache has them anyway.
const READER_CACHE_KIB: u32 = 1 << 10;

/// How connections are made.
#[derive(Debug, Clone)]
pub(in crate::store) enum Database {
    Sqlite(Box<SqliteConnectOptions>),
    Postgres { options: Box<PgConnectOptions>, is_lent_by_transaction: bool },
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

    /// The server at `url`, where `statement-cache-capacity=0` tells of a pooler that lends a server for one transaction at
    /// a time.
    pub(in crate::store) fn server(url: &str) -> Result<Self, StoreError> {
        let url = Url::parse(url).map_err(|error| sqlx::Error::Configuration(error.into()))?;
        let options = PgConnectOptions::from_url(&url)?;
        // Poolers refuse what they do not know, and we read no floats.
        let options = options.application_name("overnight").extra_float_digits(None);
        let mut settings = url.query_pairs();
        let is_lent_by_transaction = settings.any(|(key, value)| key == STATEMENTS && value == "0");
        Ok(Self::Postgres { options: Box::new(options), is_lent_by_transaction })
    }

    /// The same for those who only read.
    pub(in crate::store) fn for_reading(&self) -> Self {
        match self {
            Self::Sqlite(options) => {
                let options = (**options).clone().read_only(true).create_if_missing(false);
                let options = options.row_buffer_size(READER_ROWS_AHEAD);
                Self::Sqlite(Box::new(options.pragma("cache_size", cache_size(READER_CACHE_KIB))))
            }
            Self::Postgres { .. } => self.clone(),
        }
    }

    pub(in crate::store) const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres { .. } => Dialect::Postgres,
        }
    }

    /// A new connection.
    pub(in crate::store) async fn connect(&self) -> Result<Connection, StoreError> {
        Ok(match self {
            Self::Sqlite(options) => Connection::Sqlite(options.connect().await?),
            Self::Postgres { options, is_lent_by_transaction } => {
                Connection::Postgres(Postgres::connect(options, *is_lent_by_transaction).await?)
            }
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
