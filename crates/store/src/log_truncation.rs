//! Emptying the write-ahead log, so that deleted data leaves it: the log holds older states of pages until it is overwritten. PostgreSQL
//! sees to its own.
//!
//! SQLite overwrites deleted rows (`secure_delete`; `fast` would leave free pages). A worker empties the log each minute. Copies of rows
//! that SQLite left in unused parts of other pages stay until `overnight vacuum` rewrites the file: a live service does not edit pages.
//! With `[encryption]` the key of an erased account is destroyed. See docs/operating/deletion.md.

use std::fs;
use std::sync::atomic::Ordering;

use crate::database::beside;
use crate::{Store, StoreError};

impl Store {
    /// `None` on a server.
    pub fn log_bytes(&self) -> Option<u64> {
        let log = beside(self.database().path()?, "-wal");
        Some(fs::metadata(log).map_or(0, |file| file.len()))
    }

    /// Time since the log was emptied, or opened by this process, in milliseconds: data deleted earlier is not in it. 0 while it is empty;
    /// `None` on a server.
    pub fn log_age_ms(&self, now: i64) -> Option<i64> {
        let emptied_at = self.log_emptied_at().load(Ordering::Relaxed);
        self.log_bytes().map(|bytes| if bytes == 0 { 0 } else { now.saturating_sub(emptied_at).max(0) })
    }

    /// Copies the log into the database and empties it; `false` while a reader needs it. It occupies the writer only briefly. `now` is in
    /// milliseconds.
    pub async fn truncate_log(&self, now: i64) -> Result<bool, StoreError> {
        if self.log_bytes().is_none_or(|bytes| bytes == 0) {
            return Ok(true);
        }
        // Most of it is copied while the writer continues.
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
