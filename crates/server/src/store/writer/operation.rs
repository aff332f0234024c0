//! A write, with the way back to its asker.

use std::any::Any;
use std::pin::Pin;

use overnight_domain::scheduler::AccountKey;
use tokio::sync::oneshot;

use crate::store::error::StoreError;
use crate::store::writes::{WriteOrder, WriteTransaction};

/// Which of the two queues a write waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum WriteClass {
    /// Moves what was accepted before; never refused, drained first.
    Control,
    /// Moves what waits towards an engine: as control, and refused while the disk has no room for the results of more.
    Advance,
    /// Brings new work; bounded in count and bytes, refused past that.
    Intake,
}

/// A write that one transaction does for several askers.
pub(in crate::store) trait Operation: Sized + Send + Sync + 'static {
    /// What the asker gets once the transaction is durable.
    type Answer: Send + 'static;
    /// Where it waits.
    const CLASS: WriteClass;
    const ORDER: WriteOrder;

    /// About how many rows it writes.
    fn rows(&self) -> usize {
        1
    }

    /// The account in whose line it waits, if it is intake.
    fn account(&self) -> Option<AccountKey> {
        None
    }

    /// About how many bytes it holds while it waits.
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }

    /// Does them all, in order; one answer for each. A `WriteGroup` calls it, once for all of its jobs of this operation.
    fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> impl Future<Output = Result<Vec<Self::Answer>, StoreError>> + Send;
}

/// An operation and where its answer goes.
pub(in crate::store) struct Job<O: Operation> {
    pub(in crate::store) operation: O,
    pub(super) reply: oneshot::Sender<Result<O::Answer, StoreError>>,
}

/// The answers to some jobs of one operation.
pub(super) type Answers = Box<dyn Any + Send>;

type Applied<'a> = Pin<Box<dyn Future<Output = Result<Answers, StoreError>> + Send + 'a>>;

/// Jobs of one operation, whichever it is, in the order in which they came.
pub(super) trait Jobs: Any + Send + Sync {
    fn class(&self) -> WriteClass;
    fn order(&self) -> WriteOrder;
    fn count(&self) -> usize;
    fn rows(&self) -> usize;
    fn bytes(&self) -> usize;

    /// That of the first job: what waits is one.
    fn account(&self) -> Option<AccountKey>;

    /// Adds jobs of the same operation.
    fn append(&mut self, others: Box<dyn Jobs>);

    /// Each job by itself.
    fn split(self: Box<Self>) -> Vec<Box<dyn Jobs>>;

    fn apply<'a>(&'a self, write: &'a mut WriteTransaction<'_>) -> Applied<'a>;

    /// Hands each asker its answer, which [`Jobs::apply`] gave. An asker that has left loses nothing.
    fn answer(self: Box<Self>, answers: Answers);

    /// Answers each asker that nothing was done.
    fn refuse(self: Box<Self>, why: &dyn Fn() -> StoreError);
}

impl<O: Operation> From<Job<O>> for Box<dyn Jobs> {
    fn from(job: Job<O>) -> Self {
        Box::new(vec![job])
    }
}

impl<O: Operation> Jobs for Vec<Job<O>> {
    fn class(&self) -> WriteClass {
        O::CLASS
    }

    fn order(&self) -> WriteOrder {
        O::ORDER
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn rows(&self) -> usize {
        self.iter().map(|job| job.operation.rows()).sum()
    }

    fn bytes(&self) -> usize {
        self.iter().map(|job| job.operation.bytes()).sum()
    }

    fn account(&self) -> Option<AccountKey> {
        self.first()?.operation.account()
    }

    fn append(&mut self, others: Box<dyn Jobs>) {
        let others: Box<dyn Any> = others;
        match others.downcast::<Self>() {
            Ok(others) => self.extend(*others),
            // The askers hear that the store has stopped. Each operation has an order of its own, which a test shows.
            Err(_) => debug_assert!(false, "two operations share an order"),
        }
    }

    fn split(self: Box<Self>) -> Vec<Box<dyn Jobs>> {
        self.into_iter().map(Into::into).collect()
    }

    fn apply<'a>(&'a self, write: &'a mut WriteTransaction<'_>) -> Applied<'a> {
        Box::pin(async move { Ok(Box::new(O::apply(self, write).await?) as Answers) })
    }

    fn answer(self: Box<Self>, answers: Answers) {
        let Ok(answers) = answers.downcast::<Vec<O::Answer>>() else { return };
        for (job, answer) in self.into_iter().zip(*answers) {
            let _ = job.reply.send(Ok(answer));
        }
    }

    fn refuse(self: Box<Self>, why: &dyn Fn() -> StoreError) {
        for job in *self {
            let _ = job.reply.send(Err(why()));
        }
    }
}
