//! The one writer. Writes that arrive together share a transaction and its fsync; each asker is answered only after
//! the commit. The writer runs on a thread of its own (SQLite) or as a task (PostgreSQL), or step by step in a test that chooses
//! what joins and where it crashes.

pub(in crate::store) mod core;
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
use crate::store::error::StoreError;

/// The name of the loop that writes.
const WRITER: &str = "store_writer";

/// Where writes are handed in.
#[derive(Clone, Default)]
pub(super) struct Writer {
    queues: Arc<WriteQueues>,
}

impl Writer {
    /// Puts an operation in line and waits until it is durable. Once in line it is done even if the asker leaves.
    ///
    /// `WriterCore::run` (`core.rs`) takes what is in line as a group. `WriteGroup::run` (`group.rs`) calls
    /// [`Operation::apply`], which stands in the file of `O`, commits, and answers. Who asks from another crate gets this boxed:
    /// otherwise that crate would be compiled with all that the operation does.
    pub(super) async fn write<O: Operation>(&self, operation: O) -> Result<O::Answer, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job: Box<dyn Jobs> = Job { operation, reply }.into();
        self.queues.push(job)?;
        answer.await.unwrap_or(Err(StoreError::Stopped))
    }

    /// Why new work is refused, if it is.
    pub(super) fn refusing(&self) -> Option<&'static str> {
        self.queues.refusing()
    }

    /// Refuses bytes that are to be kept in the data folder beside the database where the disk has no room for intake of that
    /// size.
    pub(super) fn check_room(&self, bytes: usize) -> Result<(), StoreError> {
        self.queues.allowance().room_after(bytes).map(drop)
    }

    /// Whether nothing is released or leased, so that the disk has room for the results of what runs.
    pub(super) fn is_advance_held(&self) -> bool {
        self.queues.allowance().is_advance_held
    }

    pub(super) fn is_closed(&self) -> bool {
        self.queues.is_closed()
    }

    pub(super) fn depth(&self) -> usize {
        self.queues.depth()
    }

    /// Nothing more is taken, and what is in line is refused.
    pub(super) fn abandon(&self) {
        self.queues.abandon();
    }

    /// Nothing more is taken; what is in line is still done.
    pub(super) fn close(&self) {
        self.queues.close();
    }
}
