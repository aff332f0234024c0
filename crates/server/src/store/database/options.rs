//! Where the database is, and how a connection to it is made.

use std::path::Path;

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;
use url::Url;

use crate::store::StoreError;
use crate::store::database::checkpoint::Checkpointer;
use crate::store::database::connection::Connection;
use crate::store::database::postgres::Postgres;
use crate::store::database::sqlite::SqliteOptions;
use crate::store::database::thread::SqliteThread;
use crate::store::database::{Dialect, PostgresError};

/// What a URL calls the number of statements that a connection keeps.
const STATEMENTS: &str = "statement-cache-capacity";

/// How connections are made.
#[derive(Debug, Clone)]
pub(in crate::store) enum Database {
    Sqlite(SqliteOptions),
    Postgres { options: Box<PgConnectOptions>, is_lent_by_transaction: bool },
}

impl Database {
    /// The file at `path`, made with pages of `page_bytes` if it is absent. Without `is_durable` a commit survives the end
    /// of the process, and not the loss of power.
    pub(in crate::store) fn file(path: &Path, page_bytes: u32, is_durable: bool) -> Self {
        Self::Sqlite(SqliteOptions { path: path.to_owned(), page_bytes, is_durable, is_read_only: false })
    }

    /// The server at `url`, where `statement-cache-capacity=0` tells of a pooler that lends a server for one transaction at
    /// a time.
    pub(in crate::store) fn server(url: &str) -> Result<Self, StoreError> {
        let url = Url::parse(url).map_err(|error| PostgresError::Configuration(error.into()))?;
        let options = PgConnectOptions::from_url(&url)?;
        // Poolers refuse what they do not know, and we read no floats.
        let options = options.application_name("overnight").extra_float_digits(None);
        let mut settings = url.query_pairs();
        let is_lent_by_transaction = settings.any(|(key, value)| key == STATEMENTS && value == "0");
        Ok(Self::Postgres { options: Box::new(options), is_lent_by_transaction })
    }

    /// The file, where the database is one.
    pub(in crate::store) fn path(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(options) => Some(&options.path),
            Self::Postgres { .. } => None,
        }
    }

    pub(in crate::store) const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres { .. } => Dialect::Postgres,
        }
    }

    /// A new connection. On SQLite its statements run on the thread that asks for them.
    pub(in crate::store) async fn connect(&self) -> Result<Connection, StoreError> {
        Ok(match self {
            Self::Sqlite(options) => Connection::Sqlite(options.open()?),
            Self::Postgres { options, is_lent_by_transaction } => {
                Connection::Postgres(Postgres::connect(options, *is_lent_by_transaction).await?)
            }
        })
    }

    /// Has the log of the file copied beside `writer`, the connection that writes, from now on; `on_copied` is called after
    /// each pass over it.
    pub(in crate::store) fn start_checkpoints(
        &self,
        writer: &mut Connection,
        on_copied: impl Fn() + Send + 'static,
    ) -> Result<Option<Checkpointer>, StoreError> {
        match (self, writer) {
            (Self::Sqlite(options), Connection::Sqlite(sqlite)) => {
                Ok(Some(Checkpointer::start(sqlite, options, on_copied)?))
            }
            _ => Ok(None),
        }
    }

    /// A new connection for those who write beside the writer. On SQLite its statements run on a thread of its own.
    pub(in crate::store) async fn connect_beside(&self) -> Result<Connection, StoreError> {
        match self {
            Self::Sqlite(options) => Ok(Connection::SqliteThread(SqliteThread::start(options)?)),
            Self::Postgres { .. } => self.connect().await,
        }
    }

    /// A new connection for reads. On SQLite they run on a thread of its own.
    pub(in crate::store) async fn connect_reader(&self) -> Result<Connection, StoreError> {
        match self {
            Self::Sqlite(options) => {
                let options = SqliteOptions { is_read_only: true, ..options.clone() };
                Ok(Connection::SqliteThread(SqliteThread::start(&options)?))
            }
            Self::Postgres { .. } => self.connect().await,
        }
    }
}
