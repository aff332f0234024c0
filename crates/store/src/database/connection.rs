//! A connection to either database.

use std::path::Path;
use std::sync::Once;

use crate::StoreError;
use crate::database::Dialect;
use crate::database::checkpoint::{CHECKPOINT, Checkpointer};
use crate::database::postgres::Postgres;
use crate::database::row::Row;
use crate::database::sqlite::Sqlite;
use crate::database::statement::Statement;
use crate::database::thread::SqliteThread;

/// Runs one thing at a time.
#[derive(Debug)]
pub(crate) enum Connection {
    /// Runs statements on the calling thread.
    Sqlite(Sqlite),
    SqliteThread(SqliteThread),
    Postgres(Postgres),
}

impl Connection {
    pub(crate) const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) | Self::SqliteThread(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Returns the number of rows touched.
    pub(crate) async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        let done = match self {
            _ if statement.is_empty() => Ok(0),
            Self::Sqlite(sqlite) => sqlite.execute(&statement).map_err(StoreError::from),
            Self::SqliteThread(thread) => thread.run(move |sqlite| sqlite.execute(&statement)).await,
            Self::Postgres(postgres) => postgres.execute(statement).await,
        };
        done.inspect_err(note_damage)
    }

    /// Several statements without values or results.
    pub(crate) async fn execute_all(&mut self, text: &'static str) -> Result<(), StoreError> {
        let done = match self {
            Self::Sqlite(sqlite) => sqlite.run(text).map_err(StoreError::from),
            Self::SqliteThread(thread) => thread.run(move |sqlite| sqlite.run(text)).await,
            Self::Postgres(postgres) => postgres.run(text).await,
        };
        done.inspect_err(note_damage)
    }

    /// From here on every read sees the same state, until a `ROLLBACK`.
    pub(crate) async fn begin_snapshot(&mut self) -> Result<(), StoreError> {
        let text = match self.dialect() {
            Dialect::Sqlite => "BEGIN",
            Dialect::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        self.execute_all(text).await?;
        self.take_time().await
    }

    /// The current transaction works on whole tables: it is planned so, and may take long.
    pub(crate) async fn take_time(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) | Self::SqliteThread(_) => Ok(()),
            Self::Postgres(postgres) => postgres.take_time().await,
        }
    }

    pub(crate) async fn fetch(&mut self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let rows = match self {
            _ if statement.is_empty() => Ok(Vec::new()),
            Self::Sqlite(sqlite) => sqlite.fetch(&statement).map_err(StoreError::from),
            Self::SqliteThread(thread) => thread.run(move |sqlite| sqlite.fetch(&statement)).await,
            Self::Postgres(postgres) => postgres.fetch(statement).await,
        };
        rows.inspect_err(note_damage)
    }

    /// Of a statement that always returns a row.
    pub(crate) async fn fetch_one(&mut self, statement: Statement) -> Result<Row, StoreError> {
        let row = self.fetch(statement).await?.into_iter().next();
        row.ok_or(StoreError::Damaged("a required row is missing"))
    }

    /// Copies log pages that no reader needs into the database, while others read and write.
    pub(crate) async fn copy_log(&mut self) -> Result<(), StoreError> {
        match self.dialect() {
            Dialect::Sqlite => self.execute_all(CHECKPOINT).await,
            Dialect::Postgres => Ok(()),
        }
    }

    /// Copies the whole log into the database and empties it, unless a reader needs it; returns whether it did. PostgreSQL has none.
    pub(crate) async fn truncate_log(&mut self) -> Result<bool, StoreError> {
        match self {
            Self::Sqlite(sqlite) => Ok(sqlite.truncate_log()?),
            Self::SqliteThread(thread) => thread.run(|sqlite| sqlite.truncate_log()).await,
            Self::Postgres(_) => Ok(true),
        }
    }

    /// Rewrites the database file without free pages, while no one else writes; `folder` needs room for a copy.
    pub(crate) fn vacuum(&self, folder: &Path) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(sqlite) => Ok(sqlite.vacuum(folder)?),
            Self::SqliteThread(_) | Self::Postgres(_) => Ok(()),
        }
    }

    pub(crate) fn look_at_checkpoint(&self, checkpointer: &mut Checkpointer) {
        if let Self::Sqlite(sqlite) = self {
            checkpointer.look(sqlite);
        }
    }

    /// Does not wait for a server.
    pub(crate) async fn close(self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::SqliteThread(thread) => {
                thread.close().await;
                Ok(())
            }
            Self::Postgres(postgres) => postgres.close().await,
        }
    }
}

/// Counts damage; logs what to do the first time.
pub(crate) fn note_damage(error: &StoreError) {
    static FIRST: Once = Once::new();
    if error.is_damage() {
        metrics::counter!("overnight_store_damage_total").increment(1);
        FIRST.call_once(|| {
            tracing::error!(%error, "database damaged: calls that read the damaged pages fail; see docs/operating/backup.md#a-damaged-database");
        });
    }
}
