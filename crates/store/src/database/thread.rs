//! Threads of the database, and a connection to SQLite that lives on one.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};

use overnight_base::supervision::{EXIT_IO_ERROR, Supervisor};
use rusqlite::InterruptHandle;
use tokio::sync::oneshot;

use crate::StoreError;
use crate::database::sqlite::{Sqlite, SqliteOptions};

const READER: &str = "store_reader";

/// A loop of the supervisor. If the system has no thread left, the process ends.
pub(crate) fn spawn(
    supervisor: &Supervisor,
    name: &'static str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    let started = Builder::new().name(name.to_owned()).spawn(work);
    started.map_err(|source| {
        supervisor.not_started(name, &source);
        StoreError::Thread { name, source }
    })
}

/// Handles messages until all senders are gone.
pub(super) fn spawn_for_messages<M: Send + 'static>(
    supervisor: &Arc<Supervisor>,
    name: &'static str,
    messages: Receiver<M>,
    handle: impl FnMut(M) + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    let supervised = Arc::clone(supervisor);
    spawn(supervisor, name, move || supervised.serve_messages(name, &messages, handle))
}

/// Ends the process after a disk failure: the state of the disk is unknown, and the next start reads it again.
#[expect(clippy::exit, reason = "no answer may be given, and no destructor may write")]
pub(crate) fn end_process(error: &StoreError) -> ! {
    tracing::error!(%error, "store failed; the process ends");
    std::process::exit(EXIT_IO_ERROR.into())
}

type Work = Box<dyn FnOnce(&mut Sqlite) + Send>;

/// A connection to SQLite on a separate thread: one message there and one back. Dropping it ends the current statement.
pub(crate) struct SqliteThread {
    work: Sender<Work>,
    interrupt: InterruptHandle,
    supervisor: Arc<Supervisor>,
    /// Ends with an error once the connection is closed.
    closed: oneshot::Receiver<()>,
}

/// Fields are dropped in this order.
struct Held {
    sqlite: Sqlite,
    _closed: oneshot::Sender<()>,
}

impl SqliteThread {
    pub(super) fn start(options: &SqliteOptions) -> Result<Self, StoreError> {
        let (tell_closed, closed) = oneshot::channel();
        let mut held = Held { sqlite: options.open_again()?, _closed: tell_closed };
        let interrupt = held.sqlite.interrupt_handle();
        let (work, wanted) = mpsc::channel::<Work>();
        let supervisor = Arc::clone(&options.supervisor);
        spawn_for_messages(&supervisor, READER, wanted, move |work: Work| {
            // Moves the whole value here.
            let held = &mut held;
            work(&mut held.sqlite);
        })?;
        Ok(Self { work, interrupt, supervisor, closed })
    }

    /// After the pending work.
    pub(super) async fn close(mut self) {
        let (none, _) = mpsc::channel();
        drop(std::mem::replace(&mut self.work, none));
        _ = (&mut self.closed).await;
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Sqlite) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let supervisor = Arc::clone(&self.supervisor);
        let work = Box::new(move |sqlite: &mut Sqlite| {
            let outcome = supervisor.item_now(READER, "a read", || work(sqlite));
            // The caller may have left.
            let _ = reply.send(outcome);
        });
        self.work.send(work).map_err(|_| StoreError::Stopped)?;
        let outcome = answer.await.map_err(|_| StoreError::Stopped)?;
        Ok(outcome.map_err(|_| StoreError::Damaged("reading it panicked"))??)
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
