//! Threads of the database, and a connection to SQLite that lives on one.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};

use overnight_base::supervision::{EXIT_IO_ERROR, Supervisor};
use rusqlite::InterruptHandle;
use tokio::sync::oneshot;

use crate::store::StoreError;
use crate::store::database::sqlite::{Sqlite, SqliteOptions};

/// The loop of each thread that reads.
const READER: &str = "store_reader";

/// Starts a thread that is a loop of the supervisor. If the system has no thread left, the process ends.
pub(in crate::store) fn spawn(
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

/// Starts a thread that handles messages until nobody can send any more.
pub(super) fn spawn_for_messages<M: Send + 'static>(
    supervisor: &Arc<Supervisor>,
    name: &'static str,
    messages: Receiver<M>,
    handle: impl FnMut(M) + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    let supervised = Arc::clone(supervisor);
    spawn(supervisor, name, move || supervised.serve_messages(name, &messages, handle))
}

/// Ends the process, whose disk failed: nobody knows what is on it, and the next start reads it again.
#[expect(clippy::exit, reason = "no answer may be given, and no destructor may write")]
pub(in crate::store) fn end_process(error: &StoreError) -> ! {
    tracing::error!(%error, "store failed; the process ends");
    std::process::exit(EXIT_IO_ERROR.into())
}

type Work = Box<dyn FnOnce(&mut Sqlite) + Send>;

/// A connection to SQLite on a thread of its own: what it is asked is one message there and one back. Dropped, it ends
/// what is under way.
pub(in crate::store) struct SqliteThread {
    work: Sender<Work>,
    interrupt: InterruptHandle,
    supervisor: Arc<Supervisor>,
    /// Ends with an error once the connection is closed.
    closed: oneshot::Receiver<()>,
}

/// What the thread holds; its fields are dropped in this order.
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
            // All of it moves here.
            let held = &mut held;
            work(&mut held.sqlite);
        })?;
        Ok(Self { work, interrupt, supervisor, closed })
    }

    /// Closes the connection once it has done what it was asked.
    pub(super) async fn close(mut self) {
        let (none, _) = mpsc::channel();
        drop(std::mem::replace(&mut self.work, none));
        _ = (&mut self.closed).await;
    }

    /// Has `work` done on the thread.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Sqlite) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let supervisor = Arc::clone(&self.supervisor);
        let work = Box::new(move |sqlite: &mut Sqlite| {
            let outcome = supervisor.item_now(READER, "a read", || work(sqlite));
            // Who asked may have left.
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
