//! What was deleted leaves the write-ahead log, which holds older states of pages until it is written over: it is copied into the
//! database and emptied. PostgreSQL sees to its own.
//!
//! What is deleted leaves the log, and the file at a vacuum. SQLite overwrites what it deletes (`secure_delete`; `fast` would leave
//! free pages). A worker empties the write-ahead log each minute (`store/log_truncation.rs`). Copies of rows that SQLite left in
//! unused parts of other pages stay until `overnight vacuum` rewrites the file: a live service does not edit pages. With
//! `[encryption]` the key of an erased account is destroyed. See docs/operating/deletion.md.

use std::fs;
use std::sync::atomic::Ordering;

use crate::store::database::beside;
use crate::store::{Store, StoreError};

impl Store {
    /// The bytes of the write-ahead log; `None` where the database is on a server.
    pub fn log_bytes(&self) -> Option<u64> {
        let log = beside(self.database().path()?, "-wal");
        Some(fs::metadata(log).map_or(0, |file| file.len()))
    }

    /// How long ago the log was emptied last, or this process opened it, in milliseconds: it holds nothing that was deleted
    /// before. 0 while it is empty; `None` where the database is on a server.
    pub fn log_age_ms(&self, now: i64) -> Option<i64> {
        let emptied_at = self.log_emptied_at().load(Ordering::Relaxed);
        self.log_bytes().map(|bytes| if bytes == 0 { 0 } else { now.saturating_sub(emptied_at).max(0) })
    }

    /// Empties the log, once all of it is in the database; whether that was possible. While a reader needs it, it is not, and may be
    /// tried again. It keeps the writer for a moment only. `now` is in milliseconds.
    pub async fn truncate_log(&self, now: i64) -> Result<bool, StoreError> {
        if self.log_bytes().is_none_or(|bytes| bytes == 0) {
            return Ok(true);
        }
        // Most is copied while the writer goes on.
        let mut beside = self.database().connect_beside().await?;
        beside.copy_log().await?;
        let is_empty = match self.writer().takes_transactions() {
            true => self.writer().truncate_log().await?,
            false => beside.truncate_log().await?,
        };
        if is_empty {
            self.log_emptied_at().store(now, Ordering::Relaxed);
        }
        Ok(is_empty)
    }
}
