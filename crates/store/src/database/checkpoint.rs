//! Checkpoints: copying the write-ahead log into the database, so that it can begin anew.
//!
//! A commit that has to copy a long log waits for the disk twice, so a separate thread copies most of it while the writer continues. A
//! passive checkpoint during writes never reaches the end of the log, which would grow without end: once the thread is done, the writer
//! copies the rest, and the next commit begins at the start of the log. If the rest is long, the thread copies it first, in further passes.
//! See <https://www.sqlite.org/wal.html#ckpt>.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use crate::database::sqlite::{LOG_PAGES, Sqlite, SqliteOptions};
use crate::database::thread;
use crate::error::StoreError;

pub(super) const CHECKPOINT: &str = "PRAGMA wal_checkpoint(PASSIVE)";

const IDLE: u8 = 0;
const COPYING: u8 = 1;
const COPIED: u8 = 2;

/// The writer copies at most this many pages itself, unless the thread has made all of its passes.
const REST_PAGES: i32 = LOG_PAGES / 8;
const PASSES_MAX: u32 = 4;

/// The writer's side of the copying thread.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    /// Length of the log after the last commit, in pages.
    log_pages: Arc<AtomicI32>,
    /// Its length when the thread's last pass began.
    pass_pages: i32,
    /// Times the thread was woken since the log began anew.
    passes: u32,
    state: Arc<AtomicU8>,
    /// `None` once the thread is to end.
    wake: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Takes over the checkpoints of `writer`; `on_copied` is called after each pass. The thread ends before this is dropped, so that its
    /// connection is closed.
    pub(super) fn start(
        writer: &mut Sqlite,
        options: &SqliteOptions,
        on_copied: impl Fn() + Send + 'static,
    ) -> Result<Self, StoreError> {
        let log_pages = Arc::new(AtomicI32::new(0));
        let noted = Arc::clone(&log_pages);
        // In place of SQLite's own, which copies the whole log in the commit that made it too long.
        writer.inner().wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
            noted.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        let state = Arc::new(AtomicU8::new(IDLE));
        let (wake, woken) = mpsc::channel::<()>();
        let copier = options.open_again()?;
        let done = Arc::clone(&state);
        let thread = thread::spawn_for_messages(&options.supervisor, "store_checkpoint", woken, move |()| {
            checkpoint(&copier);
            done.store(COPIED, Ordering::Release);
            on_copied();
        })?;
        Ok(Self { log_pages, pass_pages: 0, passes: 0, state, wake: Some(wake), thread: Some(thread) })
    }

    /// Call after a commit of `writer`, and when it is idle.
    pub(super) fn look(&mut self, writer: &Sqlite) {
        let pages = self.log_pages.load(Ordering::Relaxed);
        let rest = pages - self.pass_pages;
        match self.state.load(Ordering::Acquire) {
            IDLE if pages >= LOG_PAGES => self.begin_pass(pages),
            COPIED if rest > REST_PAGES && self.passes < PASSES_MAX => self.begin_pass(pages),
            COPIED => {
                // Otherwise all was copied, and the log began anew with the next commit if there was one.
                if rest > 0 {
                    checkpoint(writer);
                }
                if rest >= 0 {
                    self.log_pages.store(0, Ordering::Relaxed);
                }
                self.passes = 0;
                self.state.store(IDLE, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// Whether the log grows faster than it is copied: it begins anew sooner if large writes wait.
    pub(crate) fn is_behind(&self) -> bool {
        self.passes > 1
    }

    fn begin_pass(&mut self, pages: i32) {
        (self.pass_pages, self.passes) = (pages, self.passes + 1);
        self.state.store(COPYING, Ordering::Relaxed);
        // If the thread is gone, so is the process.
        let _ = self.wake.as_ref().map(|wake| wake.send(()));
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.wake.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Pages that cannot be copied now are copied next time; a failing disk shows at the next commit.
fn checkpoint(sqlite: &Sqlite) {
    if let Err(error) = sqlite.run(CHECKPOINT) {
        tracing::warn!(%error, "checkpoint failed; the write-ahead log stays until the next one");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;

    use tempfile::TempDir;

    use super::*;

    struct Fixture {
        checkpointer: Checkpointer,
        /// Receives the end of each pass.
        passes: Receiver<()>,
        writer: Sqlite,
        options: SqliteOptions,
        _folder: TempDir,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("test.db");
            let options = SqliteOptions {
                path,
                page_bytes: 4_096,
                is_durable: false,
                is_read_only: false,
                is_frozen: false,
                keyring: Arc::default(),
                supervisor: Arc::default(),
            };
            let mut writer = options.open().expect("a file");
            let (copied, passes) = mpsc::channel();
            let checkpointer =
                Checkpointer::start(&mut writer, &options, move || _ = copied.send(())).expect("a thread");
            writer.run("CREATE TABLE blobs (blob BLOB)").expect("a table");
            Self { checkpointer, passes, writer, options, _folder: folder }
        }

        fn grow(&self, pages: i32) {
            let bytes = i64::from(pages) * 4_096;
            self.writer.run(&format!("INSERT INTO blobs VALUES (randomblob({bytes}))")).expect("a row");
        }

        /// How many passes there were once it has looked.
        fn look(&mut self) -> u32 {
            self.checkpointer.look(&self.writer);
            self.checkpointer.passes
        }

        fn wait_for_pass(&self) {
            self.passes.recv().expect("a pass");
        }

        fn log_pages(&self) -> i32 {
            self.checkpointer.log_pages.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn what_comes_while_the_log_is_copied_is_copied_by_the_thread_too() {
        let mut log = Fixture::new();
        assert_eq!(log.look(), 0, "a short log stays");
        let reader = log.options.open().expect("a connection");
        reader.run("BEGIN; SELECT count(*) FROM blobs").expect("a snapshot, beyond which nothing is copied");
        log.grow(LOG_PAGES);
        assert!(log.look() == 1 && !log.checkpointer.is_behind());
        log.wait_for_pass();
        log.grow(2 * REST_PAGES);
        assert!(log.look() == 2 && log.checkpointer.is_behind());
        log.wait_for_pass();
        log.grow(REST_PAGES / 2);
        drop(reader);
        assert!(log.look() == 0 && !log.checkpointer.is_behind(), "the writer copied the rest");
        log.grow(1);
        assert!(log.log_pages() < REST_PAGES, "the log began anew: {}", log.log_pages());
    }

    #[test]
    fn a_log_that_was_copied_whole_begins_anew_by_itself() {
        let mut log = Fixture::new();
        log.grow(LOG_PAGES);
        assert_eq!(log.look(), 1);
        log.wait_for_pass();
        log.grow(1_000);
        assert_eq!(log.look(), 0);
        assert!((1_000..1_100).contains(&log.log_pages()), "{} pages count for the next", log.log_pages());
    }

    #[test]
    fn a_log_that_is_never_caught_up_with_is_copied_by_the_writer_in_the_end() {
        let mut log = Fixture::new();
        log.checkpointer.log_pages.store(LOG_PAGES, Ordering::Relaxed);
        for pass in 1..=PASSES_MAX {
            assert_eq!(log.look(), pass);
            log.wait_for_pass();
            log.checkpointer.log_pages.fetch_add(2 * REST_PAGES, Ordering::Relaxed);
        }
        assert_eq!(log.look(), 0);
    }
}
