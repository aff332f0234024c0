//! The one writer. Writes that arrive together share a transaction and its fsync; each asker is answered only after
//! the commit. The writer runs as a task of its own, or by hand, where a test chooses what joins and where it crashes.

mod core;
mod group;
mod lanes;
mod operation;
mod transactions;
mod unit;

use std::sync::Arc;

use tokio::sync::oneshot;

pub use self::core::ManualWriter;
pub(super) use self::core::WriterCore;
pub use self::group::CrashPoint;
use self::group::Write;
use self::lanes::Lanes;
pub(super) use self::operation::{Job, Lane, Operation};
pub(super) use self::unit::{Sequences, Unit};
use crate::store::error::StoreError;

/// Where writes are handed in.
#[derive(Clone, Default)]
pub(super) struct Writer {
    lanes: Arc<Lanes>,
}

impl Writer {
    /// Puts an operation in line and waits until it is durable. Once in line it is done even if the asker leaves.
    pub(super) async fn write<O>(&self, operation: O) -> Result<O::Answer, StoreError>
    where
        O: Operation,
        Write: From<Job<O>>,
    {
        let (reply, answer) = oneshot::channel();
        self.lanes.push(Job { operation, reply }.into())?;
        answer.await.unwrap_or(Err(StoreError::Stopped))
    }

    /// Why new work is refused, if it is.
    pub(super) fn refusing(&self) -> Option<&'static str> {
        self.lanes.refusing()
    }

    /// How many writes wait.
    pub(super) fn depth(&self) -> usize {
        self.lanes.depth()
    }

    /// Nothing more is taken; what is in line is still done.
    pub(super) fn close(&self) {
        self.lanes.close();
    }
}
