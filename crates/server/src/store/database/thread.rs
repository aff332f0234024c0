//! Threads of the database, and a connection to SQLite that lives on one.

use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use rusqlite::InterruptHandle;
use tokio::sync::oneshot;

use crate::store::StoreError;
use crate::store::database::sqlite::{Sqlite, SqliteOptions};

const EXIT_PANIC: i32 = 70;
const EXIT_IO_ERROR: i32 = 74;

/// Starts a thread. A panic on it ends the process: nobody knows what it left half done.
pub(in crate::store) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let guarded = move || {
        let _guard = EndProcess;
        work();
    };
    let thread = std::thread::Builder::new().name(format!("sqlite {name}"));
    thread.spawn(guarded).expect("the system has threads")
}

/// Ends the process where it is dropped by a panic.
struct EndProcess;

impl Drop for EndProcess {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!("a database thread panicked; the process ends");
            std::process::exit(EXIT_PANIC);
        }
    }
}

/// Ends the process, whose disk failed: nobody knows what is on it, and the next start reads it again.
#[expect(clippy::exit, reason = "no answer may be given, and no destructor may write")]
pub(in crate::store) fn end_process(error: &StoreError) -> ! {
    tracing::error!(%error, "store failed; the process ends");
    std::process::exit(EXIT_IO_ERROR)
}

type Work = Box<dyn FnOnce(&mut Sqlite) + Send>;

/// A connection to SQLite on a thread of its own: what it is asked is one message there and one back. Dropped, it ends
/// what is under way.
pub(in crate::store) struct SqliteThread {
    work: Sender<Work>,
    interrupt: InterruptHandle,
}

impl SqliteThread {
    pub(super) fn start(options: &SqliteOptions) -> rusqlite::Result<Self> {
        let mut sqlite = options.open()?;
        let interrupt = sqlite.interrupt_handle();
        let (work, wanted) = mpsc::channel::<Work>();
        spawn("reader", move || {
            while let Ok(work) = wanted.recv() {
                work(&mut sqlite);
            }
        });
        Ok(Self { work, interrupt })
    }

    /// Has `work` done on the thread.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Sqlite) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let work = Box::new(move |sqlite: &mut Sqlite| {
            // Who asked may have left.
            let _ = reply.send(work(sqlite));
        });
        self.work.send(work).map_err(|_| StoreError::Stopped)?;
        Ok(answer.await.map_err(|_| StoreError::Stopped)??)
    }
}

impl Drop for SqliteThread {
    fn drop(&mut self) {
        self.interrupt.interrupt();
    }
}

impl std::fmt::Debug for SqliteThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteThread").finish_non_exhaustive()
    }
}
