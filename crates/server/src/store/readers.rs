//! Readers: connections that see what is committed, lent for one read at a time.
//!
//! The one returned last is lent first, since its pages are warm. A pool of `sqlx` would ask a connection how it is
//! each time it comes back, which is a message to its thread and back for every read.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::StoreError;
use super::tx::Statement;

/// A few connections, opened when they are first needed.
pub(super) struct Readers {
    options: SqliteConnectOptions,
    count: u32,
    permits: Semaphore,
    idle: Mutex<Vec<SqliteConnection>>,
}

impl Readers {
    /// Opens the first of `count` connections.
    pub(super) async fn open(options: SqliteConnectOptions, count: u32) -> Result<Self, StoreError> {
        let permits = Semaphore::new(count as usize);
        let idle = Mutex::new(vec![options.connect().await?]);
        Ok(Self { options, count, permits, idle })
    }

    /// Every row of a read.
    pub(super) async fn fetch_all(&self, statement: Statement<'_>) -> Result<Vec<SqliteRow>, StoreError> {
        let mut reader = self.take().await?;
        let rows = statement.fetch_all(&mut *reader).await;
        reader.give_back();
        Ok(rows?)
    }

    /// The first row of a read, if it has one.
    pub(super) async fn fetch_optional(
        &self,
        statement: Statement<'_>,
    ) -> Result<Option<SqliteRow>, StoreError> {
        let mut reader = self.take().await?;
        let row = statement.fetch_optional(&mut *reader).await;
        reader.give_back();
        Ok(row?)
    }

    /// The first row of a read that always has one.
    pub(super) async fn fetch_one(&self, statement: Statement<'_>) -> Result<SqliteRow, StoreError> {
        let row = self.fetch_optional(statement).await?;
        row.ok_or(StoreError::Database(sqlx::Error::RowNotFound))
    }

    /// A connection for several reads. Unless it is given back it is closed, so that what an abandoned read left under
    /// way holds nobody up.
    pub(super) async fn take(&self) -> Result<Reader<'_>, StoreError> {
        let permit = self.permits.acquire().await.map_err(|_| StoreError::Stopped)?;
        let warm = self.lock().pop();
        let connection = match warm {
            Some(connection) => connection,
            None => self.options.connect().await?,
        };
        Ok(Reader { readers: self, connection, _permit: permit })
    }

    /// Waits for the reads under way, refuses more, and closes what is open.
    pub(super) async fn close(&self) {
        let all = self.permits.acquire_many(self.count).await;
        self.permits.close();
        drop(all);
        let idle = std::mem::take(&mut *self.lock());
        for connection in idle {
            // Nothing that it read is lost.
            let _ = connection.close().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SqliteConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is lent.
pub(super) struct Reader<'r> {
    readers: &'r Readers,
    connection: SqliteConnection,
    _permit: SemaphorePermit<'r>,
}

impl Reader<'_> {
    /// Nothing is under way on it.
    pub(super) fn give_back(self) {
        let Self { readers, connection, _permit } = self;
        readers.lock().push(connection);
    }
}

impl Deref for Reader<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.connection
    }
}

impl DerefMut for Reader<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn readers() -> Readers {
        Readers::open(SqliteConnectOptions::new().in_memory(true), 2).await.expect("a connection")
    }

    #[tokio::test]
    async fn a_reader_is_lent_again_and_an_abandoned_one_never() {
        let readers = readers().await;
        assert!(readers.fetch_one(sqlx::query("SELECT 1")).await.is_ok());
        assert_eq!(readers.lock().len(), 1);
        drop(readers.take().await.expect("a reader"));
        assert_eq!(readers.lock().len(), 0);
        assert!(readers.fetch_one(sqlx::query("SELECT 1")).await.is_ok());
        assert_eq!(readers.lock().len(), 1);
    }

    #[tokio::test]
    async fn closing_waits_for_the_read_under_way_and_refuses_the_next() {
        let readers = readers().await;
        let reader = readers.take().await.expect("a reader");
        let (_, after) = tokio::join!(readers.close(), async {
            reader.give_back();
            readers.fetch_one(sqlx::query("SELECT 1")).await
        });
        assert!(matches!(after, Err(StoreError::Stopped)));
        assert_eq!(readers.lock().len(), 0);
    }
}
