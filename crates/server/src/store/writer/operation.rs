//! A write, with the way back to who asked for it.

use tokio::sync::oneshot;

use crate::store::error::StoreError;
use crate::store::writer::unit::Unit;

/// Which of the two lanes a write waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Lane {
    /// Moves what was accepted before; never refused, drained first.
    Control,
    /// Brings new work; bounded in count and bytes, refused past that.
    Intake,
}

/// Something the writer can do for several askers in one transaction.
pub(in crate::store) trait Operation: Sized + Send + Sync + 'static {
    /// What the asker gets once the transaction is durable.
    type Answer: Send + 'static;
    /// Where it waits.
    const LANE: Lane;

    /// About how many rows it writes.
    fn rows(&self) -> usize {
        1
    }

    /// About how many bytes it holds while it waits.
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }

    /// Does them all, in order; one answer for each.
    fn apply(
        operations: &[Job<Self>],
        unit: &mut Unit<'_>,
    ) -> impl Future<Output = Result<Vec<Self::Answer>, StoreError>> + Send;
}

/// An operation and where its answer goes.
pub(in crate::store) struct Job<O: Operation> {
    pub(in crate::store) operation: O,
    pub(super) reply: oneshot::Sender<Result<O::Answer, StoreError>>,
}

/// Hands each asker its answer; one who left does not mind.
pub(super) fn answer_all<O: Operation>(jobs: Vec<Job<O>>, answers: Vec<O::Answer>) {
    for (job, answer) in jobs.into_iter().zip(answers) {
        let _ = job.reply.send(Ok(answer));
    }
}

/// Tells each asker that nothing was done.
pub(super) fn refuse_all<O: Operation>(jobs: Vec<Job<O>>, why: impl Fn() -> StoreError) {
    for job in jobs {
        let _ = job.reply.send(Err(why()));
    }
}
