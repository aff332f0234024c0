//! The one writer. Writes that arrive together share a transaction and its fsync; each caller is answered only after the commit. It runs on
//! a separate thread (SQLite), as a task (PostgreSQL), or step by step in a test that chooses groups and crashes.
//!
//! A write on the path of a request is an `Operation`. Writes wait in two queues. *Control* (settle, cancel, …) is never refused and runs
//! first. *Intake* (creates) is bounded and refused when it is full; accounts take turns in it, one create each, and have a quarter of it
//! at most. Creates of up to 16 KiB pass larger creates of their account, and have a group of their own before each group of larger ones. A
//! group of larger ones that made others wait for 15 ms or more is followed by a rest of four times its duration, at most 1 s, in which no
//! larger ones are written (`writer/pace.rs`). If the disk lacks space, intake is refused first, then control that *advances* work towards
//! engines (release, lease).
//!
//! On SQLite a second thread copies the write-ahead log into the database meanwhile, in several passes if the log grows faster than that;
//! until it has caught up, larger creates wait. A lease shares its commit with the settles of its group, so one fsync serves both; replicas
//! lease ahead of their free slots, so that none idles during a commit.

pub(crate) mod core;
mod disk;
mod group;
mod intake;
mod operation;
mod pace;
mod queues;
mod transactions;

use std::sync::Arc;

use tokio::sync::oneshot;

pub use self::core::ManualWriter;
pub(super) use self::core::WriterCore;
pub(super) use self::disk::DiskWatch;
pub use self::group::CrashPoint;
use self::operation::Jobs;
pub(super) use self::operation::{Job, Operation, WriteClass};
use self::queues::WriteQueues;
use crate::error::StoreError;

const WRITER: &str = "store_writer";

#[derive(Clone, Default)]
pub(super) struct Writer {
    queues: Arc<WriteQueues>,
}

impl Writer {
    /// Queues an operation and waits until it is durable. Once queued, it is done even if the caller leaves.
    ///
    /// `WriterCore::run` (`core.rs`) takes queued operations as a group. `WriteGroup::run` (`group.rs`) calls [`Operation::apply`], in the
    /// file of `O`, commits, and answers. Callers in other crates get this boxed: otherwise they would be compiled with all of the
    /// operation's code.
    pub(super) async fn write<O: Operation>(&self, operation: O) -> Result<O::Answer, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job: Box<dyn Jobs> = Job { operation, reply }.into();
        self.queues.push(job)?;
        answer.await.unwrap_or(Err(StoreError::Stopped))
    }

    pub(super) fn refusing(&self) -> Option<&'static str> {
        self.queues.refusing()
    }

    pub(super) fn trouble(&self) -> Option<&'static str> {
        self.queues.trouble()
    }

    /// Refuses bytes for the data folder outside the database if the disk has no room for intake of that size.
    pub(super) fn check_room(&self, bytes: usize) -> Result<(), StoreError> {
        self.queues.allowance().room_after(bytes).map(drop)
    }

    /// Whether releases and leases are held back to keep disk space for results of running work.
    pub(super) fn is_advance_held(&self) -> bool {
        self.queues.allowance().is_advance_held
    }

    pub(super) fn is_closed(&self) -> bool {
        self.queues.is_closed()
    }

    pub(super) fn depth(&self) -> usize {
        self.queues.depth()
    }

    /// Accepts no more writes, and refuses queued ones.
    pub(super) fn abandon(&self) {
        self.queues.abandon();
    }

    /// Accepts no more writes; queued ones are still done.
    pub(super) fn close(&self) {
        self.queues.close();
    }
}
