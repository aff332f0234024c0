//! The one writer. Writes that arrive together share a transaction and its fsync; each asker is answered only after
//! the commit. The writer runs on a thread of its own (SQLite) or as a task (PostgreSQL), or step by step in a test that chooses
//! what joins and where it crashes.
//!
//! One writer groups writes. A write on the path of a request is an `Operation`. One writer collects operations into groups: one
//! transaction and one fsync a group, then every asker is answered. Writes wait in two queues. *Control* (settle, cancel, …) is never
//! refused and goes first. *Intake* (creates) is bounded and refused when it is full; accounts take turns in it, one create each, and
//! have a quarter of it at most. Creates of up to 16 KiB pass the larger ones of their account, and have a group of their own before
//! each group of larger ones. A group of larger ones that made others wait for 15 ms or more is followed by a rest of four times its
//! duration, at most 1 s, in which no larger ones are written (`writer/pace.rs`). Either may be refused for want of space on the
//! disk: first intake, then of control what *advances* work towards engines (release, lease). On SQLite the writer has a thread of
//! its own, on which a statement is a function call; a second thread copies the write-ahead log into the database meanwhile, in
//! several passes where the log grows faster than that; until it has caught up, larger creates wait. On PostgreSQL the writer is a
//! task. A lease shares its commit with the settles of its group, so one fsync serves both; replicas lease ahead of their free slots,
//! so that none idles during a commit.

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
