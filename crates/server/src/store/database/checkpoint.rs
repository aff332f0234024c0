//! Checkpoints: copying the write-ahead log into the database, so that it can begin anew.
//!
//! A commit that has to copy a long log waits for the disk twice, so a thread of its own copies most of it while the
//! writer goes on. A passive checkpoint beside a writer never finds the end of the log, and the log would grow for ever:
//! once the thread is done the writer itself copies what has come since, which is little, and the next commit begins at
//! the start of the log. See <https://www.sqlite.org/wal.html#ckpt>.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use crate::store::database::sqlite::{LOG_PAGES, Sqlite, SqliteOptions};
use crate::store::database::thread;

const CHECKPOINT: &str = "PRAGMA wal_checkpoint(PASSIVE)";

const IDLE: u8 = 0;
const COPYING: u8 = 1;
const COPIED: u8 = 2;

/// The writer's end of the thread that copies.
#[derive(Debug)]
pub(in crate::store) struct Checkpointer {
    /// How long the log was after the last commit, in pages.
    log_pages: Arc<AtomicI32>,
    state: Arc<AtomicU8>,
    /// `None` once it is to end.
    wake: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Takes over the checkpoints of `writer`. The thread ends before this is dropped, so that its connection is closed.
    pub(super) fn start(writer: &mut Sqlite, options: &SqliteOptions) -> rusqlite::Result<Self> {
        let log_pages = Arc::new(AtomicI32::new(0));
        let noted = Arc::clone(&log_pages);
        // In place of SQLite's own, which copies the whole log in the commit that made it too long.
        writer.inner().wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
            noted.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        let state = Arc::new(AtomicU8::new(IDLE));
        let (wake, woken) = mpsc::channel::<()>();
        let copier = options.open()?;
        let done = Arc::clone(&state);
        let thread = thread::spawn("checkpoint", move || {
            while woken.recv().is_ok() {
                checkpoint(&copier);
                done.store(COPIED, Ordering::Release);
            }
        });
        Ok(Self { log_pages, state, wake: Some(wake), thread: Some(thread) })
    }

    /// After a commit of `writer`, or when it has nothing to do.
    pub(super) fn look(&self, writer: &Sqlite) {
        match self.state.load(Ordering::Acquire) {
            IDLE if self.log_pages.load(Ordering::Relaxed) >= LOG_PAGES => {
                self.state.store(COPYING, Ordering::Relaxed);
                // Where the thread is gone, so is the process.
                let _ = self.wake.as_ref().map(|wake| wake.send(()));
            }
            COPIED => {
                checkpoint(writer);
                self.log_pages.store(0, Ordering::Relaxed);
                self.state.store(IDLE, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.wake.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What cannot be copied now is copied the next time; a disk that fails says so at the next commit.
fn checkpoint(sqlite: &Sqlite) {
    if let Err(error) = sqlite.run(CHECKPOINT) {
        tracing::warn!(%error, "checkpoint failed; the write-ahead log stays until the next one");
    }
}
