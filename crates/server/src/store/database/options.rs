//! Where the database is, and how a connection to it is made.

use std::path::Path;
use std::sync::Arc;

use overnight_base::encryption::Keyring;
use overnight_base::supervision::Supervisor;

use crate::store::StoreError;
use crate::store::database::Dialect;
use crate::store::database::checkpoint::Checkpointer;
use crate::store::database::connection::Connection;
use crate::store::database::postgres::Postgres;
use crate::store::database::server::{Server, ServerFiles};
use crate::store::database::sqlite::SqliteOptions;
use crate::store::database::thread::SqliteThread;

#[derive(Debug, Clone)]
pub(in crate::store) enum Database {
    Sqlite(SqliteOptions),
    Postgres(Box<Server>),
}

impl Database {
    /// The file at `path`, made with pages of `page_bytes` if it is absent. Without `is_durable` a commit survives the end
    /// of the process, and not the loss of power.
    pub(in crate::store) fn file(
        path: &Path,
        page_bytes: u32,
        is_durable: bool,
        keyring: Arc<Keyring>,
    ) -> Self {
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

    /// The server at `url`.
    pub(in crate::store) fn server(
        url: &str,
        files: ServerFiles,
        keyring: Arc<Keyring>,
    ) -> Result<Self, StoreError> {
        Ok(Self::Postgres(Box::new(Server::new(url, files, keyring)?)))
    }

    /// The same, whose threads are loops of `supervisor`.
    pub(in crate::store) fn supervised(mut self, supervisor: &Arc<Supervisor>) -> Self {
        if let Self::Sqlite(options) = &mut self {
            options.supervisor = Arc::clone(supervisor);
        }
        self
    }

    /// The same, which is only read; `is_frozen` where nobody writes to it meanwhile.
    pub(in crate::store) fn read_only(mut self, is_frozen: bool) -> Self {
        if let Self::Sqlite(options) = &mut self {
            (options.is_read_only, options.is_frozen) = (true, is_frozen);
        }
        self
    }

    /// Whether it is a file that is only read.
    pub(in crate::store) const fn is_read_only(&self) -> bool {
        matches!(self, Self::Sqlite(options) if options.is_read_only)
    }

    /// The keys by which what is encrypted is read.
    pub(in crate::store) const fn keyring(&self) -> &Arc<Keyring> {
        match self {
            Self::Sqlite(options) => &options.keyring,
            Self::Postgres(server) => server.keyring(),
        }
    }

    /// The same, on whose connections what is encrypted is read as it is stored.
    pub(in crate::store) fn as_stored(&self) -> Self {
        let mut database = self.clone();
        let keyring = Arc::new(Keyring::bypassed());
        match &mut database {
            Self::Sqlite(options) => options.keyring = keyring,
            Self::Postgres(server) => server.set_keyring(keyring),
        }
        database
    }

    /// The file, where the database is one.
    pub(in crate::store) fn path(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(options) => Some(&options.path),
            Self::Postgres(_) => None,
        }
    }

    pub(in crate::store) const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// A new connection. On SQLite its statements run on the thread that asks for them.
    pub(in crate::store) async fn connect(&self) -> Result<Connection, StoreError> {
        Ok(match self {
            Self::Sqlite(options) => Connection::Sqlite(options.open()?),
            Self::Postgres(server) => Connection::Postgres(Postgres::connect(server).await?),
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
            Self::Postgres(_) => self.connect().await,
        }
    }

    /// A new connection for reads. On SQLite they run on a thread of its own.
    pub(in crate::store) async fn connect_reader(&self) -> Result<Connection, StoreError> {
        match self {
            Self::Sqlite(options) => {
                let options = SqliteOptions { is_read_only: true, ..options.clone() };
                Ok(Connection::SqliteThread(SqliteThread::start(&options)?))
            }
            Self::Postgres(_) => self.connect().await,
        }
    }
}
