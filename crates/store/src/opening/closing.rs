//! The end of a store.

use crate::Store;

impl Store {
    /// Finishes waiting work, then closes the database and releases the folder.
    pub async fn close(&self) {
        let is_served = !self.is_shared() && self.writer().takes_transactions();
        self.inner.writer.close();
        if let Some(task) = self.inner.task.lock().await.take() {
            let _ = task.await;
        }
        self.inner.readers.close().await;
        if let Some(connection) = self.take_beside() {
            // Its transactions are committed.
            let _ = connection.close().await;
        }
        if is_served {
            self.empty_log().await;
        }
        self.inner.lock.lock().await.take();
    }

    /// Copies the log into the database, so that the file is complete. SQLite does so when the last connection closes, but not if that one
    /// only reads.
    async fn empty_log(&self) {
        let Ok(mut connection) = self.inner.database.connect_beside().await else { return };
        if let Err(error) = connection.truncate_log().await {
            tracing::warn!(%error, "write-ahead log not emptied; it belongs to the database");
        }
        let _ = connection.close().await;
    }
}
