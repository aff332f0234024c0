//! Where the database is, and how a connection to it is made.

use std::path::Path;
use std::sync::Arc;

use overnight_base::encryption::Keyring;
use overnight_base::supervision::Supervisor;

use crate::StoreError;
use crate::database::Dialect;
use crate::database::checkpoint::Checkpointer;
use crate::database::connection::Connection;
use crate::database::postgres::Postgres;
use crate::database::server::{Server, ServerFiles};
use crate::database::sqlite::SqliteOptions;
use crate::database::thread::SqliteThread;

#[derive(Debug, Clone)]
pub(crate) enum Database {
    Sqlite(SqliteOptions),
    Postgres(Box<Server>),
}

impl Database {
    /// The file at `path`, created with pages of `page_bytes` if it is absent. Without `is_durable` a commit survives the end of the
    /// process, but not a loss of power.
    pub(crate) fn file(path: &Path, page_bytes: u32, is_durable: bool, keyring: Arc<Keyring>) -> Self {
        Self::Sqlite(SqliteOptions {
            path: path.to_owned(),
            page_bytes,
            is_durable,
            is_read_only: false,
            is_frozen: false,
            keyring,
            supervisor: Arc::default(),
        })
    }

    pub(crate) fn server(url: &str, files: ServerFiles, keyring: Arc<Keyring>) -> Result<Self, StoreError> {
        Ok(Self::Postgres(Box::new(Server::new(url, files, keyring)?)))
    }

    /// Runs its threads as loops of `supervisor`.
    pub(crate) fn supervised(mut self, supervisor: &Arc<Supervisor>) -> Self {
        if let Self::Sqlite(options) = &mut self {
            options.supervisor = Arc::clone(supervisor);
        }
        self
    }

    /// `is_frozen` if no one writes to it meanwhile.
    pub(crate) fn read_only(mut self, is_frozen: bool) -> Self {
        if let Self::Sqlite(options) = &mut self {
            (options.is_read_only, options.is_frozen) = (true, is_frozen);
        }
        self
    }

    pub(crate) const fn is_read_only(&self) -> bool {
        matches!(self, Self::Sqlite(options) if options.is_read_only)
    }

    pub(crate) const fn keyring(&self) -> &Arc<Keyring> {
        match self {
            Self::Sqlite(options) => &options.keyring,
            Self::Postgres(server) => server.keyring(),
        }
    }

    /// Reads encrypted values as they are stored.
    pub(crate) fn as_stored(&self) -> Self {
        let mut database = self.clone();
        let keyring = Arc::new(Keyring::bypassed());
        match &mut database {
            Self::Sqlite(options) => options.keyring = keyring,
            Self::Postgres(server) => server.set_keyring(keyring),
        }
        database
    }

    /// `None` for a server.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(options) => Some(&options.path),
            Self::Postgres(_) => None,
        }
    }

    pub(crate) const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// On SQLite its statements run on the calling thread.
    pub(crate) async fn connect(&self) -> Result<Connection, StoreError> {
        Ok(match self {
            Self::Sqlite(options) => Connection::Sqlite(options.open()?),
            Self::Postgres(server) => Connection::Postgres(Postgres::connect(server).await?),
        })
    }

    /// Has the log copied beside `writer`, the writing connection; `on_copied` is called after each pass.
    pub(crate) fn start_checkpoints(
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

    /// For writes outside the writer. On SQLite its statements run on a separate thread.
    pub(crate) async fn connect_beside(&self) -> Result<Connection, StoreError> {
        match self {
            Self::Sqlite(options) => Ok(Connection::SqliteThread(SqliteThread::start(options)?)),
            Self::Postgres(_) => self.connect().await,
        }
    }

    /// For reads. On SQLite they run on a separate thread.
    pub(crate) async fn connect_reader(&self) -> Result<Connection, StoreError> {
        match self {
            Self::Sqlite(options) => {
                let options = SqliteOptions { is_read_only: true, ..options.clone() };
                Ok(Connection::SqliteThread(SqliteThread::start(&options)?))
            }
            Self::Postgres(_) => self.connect().await,
        }
    }
}
