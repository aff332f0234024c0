//! A connection to either database.

use std::path::Path;
use std::sync::Once;

use crate::store::StoreError;
use crate::store::database::Dialect;
use crate::store::database::checkpoint::{CHECKPOINT, Checkpointer};
use crate::store::database::postgres::Postgres;
use crate::store::database::row::Row;
use crate::store::database::sqlite::Sqlite;
use crate::store::database::statement::Statement;
use crate::store::database::thread::SqliteThread;

/// A connection, on which one thing is done at a time.
#[derive(Debug)]
pub(in crate::store) enum Connection {
    /// Its statements run on the thread that asks for them, and are answered at once.
    Sqlite(Sqlite),
    SqliteThread(SqliteThread),
    Postgres(Postgres),
}

impl Connection {
    pub(in crate::store) const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) | Self::SqliteThread(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Runs a statement; the number of rows it touched.
    pub(in crate::store) async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        let done = match self {
            _ if statement.is_empty() => Ok(0),
            Self::Sqlite(sqlite) => sqlite.execute(&statement).map_err(StoreError::from),
            Self::SqliteThread(thread) => thread.run(move |sqlite| sqlite.execute(&statement)).await,
            Self::Postgres(postgres) => postgres.execute(statement).await,
        };
        done.inspect_err(note_damage)
    }

    /// Runs several statements without values or answers.
    pub(in crate::store) async fn execute_all(&mut self, text: &'static str) -> Result<(), StoreError> {
        let done = match self {
            Self::Sqlite(sqlite) => sqlite.run(text).map_err(StoreError::from),
            Self::SqliteThread(thread) => thread.run(move |sqlite| sqlite.run(text)).await,
            Self::Postgres(postgres) => postgres.run(text).await,
        };
        done.inspect_err(note_damage)
    }

    /// From here on every read sees the same moment, until a `ROLLBACK`.
    pub(in crate::store) async fn begin_snapshot(&mut self) -> Result<(), StoreError> {
        let text = match self.dialect() {
            Dialect::Sqlite => "BEGIN",
            Dialect::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        self.execute_all(text).await?;
        self.take_time().await
    }

    /// What the transaction under way does concerns whole tables: it is planned so, and may take long.
    pub(in crate::store) async fn take_time(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) | Self::SqliteThread(_) => Ok(()),
            Self::Postgres(postgres) => postgres.take_time().await,
        }
    }

    /// Runs a statement; the rows it returned.
    pub(in crate::store) async fn fetch(&mut self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let rows = match self {
            _ if statement.is_empty() => Ok(Vec::new()),
            Self::Sqlite(sqlite) => sqlite.fetch(&statement).map_err(StoreError::from),
            Self::SqliteThread(thread) => thread.run(move |sqlite| sqlite.fetch(&statement)).await,
            Self::Postgres(postgres) => postgres.fetch(statement).await,
        };
        rows.inspect_err(note_damage)
    }

    /// Runs a statement that returns a row; the first.
    pub(in crate::store) async fn fetch_one(&mut self, statement: Statement) -> Result<Row, StoreError> {
        let row = self.fetch(statement).await?.into_iter().next();
        row.ok_or(StoreError::Damaged("a required row is missing"))
    }

    /// Copies what nobody needs in the log of the file into the database, beside those who write and read.
    pub(in crate::store) async fn copy_log(&mut self) -> Result<(), StoreError> {
        match self.dialect() {
            Dialect::Sqlite => self.execute_all(CHECKPOINT).await,
            Dialect::Postgres => Ok(()),
        }
    }

    /// Copies the whole log of the file into the database and empties it, unless somebody reads what is in the log; whether it did.
    /// On PostgreSQL there is none.
    pub(in crate::store) async fn truncate_log(&mut self) -> Result<bool, StoreError> {
        match self {
            Self::Sqlite(sqlite) => Ok(sqlite.truncate_log()?),
            Self::SqliteThread(thread) => thread.run(|sqlite| sqlite.truncate_log()).await,
            Self::Postgres(_) => Ok(true),
        }
    }

    /// Writes the database of a file anew, without free pages, where nobody else writes to it; `folder` has room for a copy.
    pub(in crate::store) fn vacuum(&self, folder: &Path) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(sqlite) => Ok(sqlite.vacuum(folder)?),
            Self::SqliteThread(_) | Self::Postgres(_) => Ok(()),
        }
    }

    /// Takes part in the checkpoints that `checkpointer` makes.
    pub(in crate::store) fn look_at_checkpoint(&self, checkpointer: &mut Checkpointer) {
        if let Self::Sqlite(sqlite) = self {
            checkpointer.look(sqlite);
        }
    }

    /// Closes it. A server is told, and not waited for.
    pub(in crate::store) async fn close(self) -> Result<(), StoreError> {
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

/// Counts damage that was met. The first is logged with what to do.
pub(in crate::store) fn note_damage(error: &StoreError) {
    static FIRST: Once = Once::new();
    if error.is_damage() {
        metrics::counter!("overnight_store_damage_total").increment(1);
        FIRST.call_once(|| {
            tracing::error!(%error, "database damaged: calls that read the damaged pages fail; see docs/operating/backup.md#a-damaged-database");
        });
    }
}
