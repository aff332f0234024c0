//! A write, with the way back to its caller.

use std::any::Any;
use std::pin::Pin;

use overnight_domain::scheduler::AccountKey;
use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::writes::{WriteOrder, WriteTransaction};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteClass {
    /// Moves accepted work; never refused, drained first.
    Control,
    /// Moves waiting work towards an engine: as control, but refused while the disk has no room for more results.
    Advance,
    /// Brings new work; bounded in count and bytes, refused past that.
    Intake,
}

/// A write that one transaction does for several callers.
pub(crate) trait Operation: Sized + Send + Sync + 'static {
    /// For the caller, once the transaction is durable.
    type Answer: Send + 'static;
    const CLASS: WriteClass;
    const ORDER: WriteOrder;

    /// Rows that it writes, about.
    fn rows(&self) -> usize {
        1
    }

    /// The account of its line, if it is intake.
    fn account(&self) -> Option<AccountKey> {
        None
    }

    /// Bytes that it holds while it waits, about.
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }

    /// Does all jobs, in order; returns one answer each. A `WriteGroup` calls it once for all of its jobs of this operation.
    fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> impl Future<Output = Result<Vec<Self::Answer>, StoreError>> + Send;
}

/// An operation, and the way of its answer.
pub(crate) struct Job<O: Operation> {
    pub(crate) operation: O,
    pub(super) reply: oneshot::Sender<Result<O::Answer, StoreError>>,
}

pub(super) type Answers = Box<dyn Any + Send>;

type Applied<'a> = Pin<Box<dyn Future<Output = Result<Answers, StoreError>> + Send + 'a>>;

/// Jobs of any one operation, in order of arrival.
pub(super) trait Jobs: Any + Send + Sync {
    fn class(&self) -> WriteClass;
    fn order(&self) -> WriteOrder;
    fn count(&self) -> usize;
    fn rows(&self) -> usize;
    fn bytes(&self) -> usize;

    /// Of the first job: a waiting write is one job.
    fn account(&self) -> Option<AccountKey>;

    fn append(&mut self, others: Box<dyn Jobs>);

    /// One per job.
    fn split(self: Box<Self>) -> Vec<Box<dyn Jobs>>;

    fn apply<'a>(&'a self, write: &'a mut WriteTransaction<'_>) -> Applied<'a>;

    /// Answers each caller, with the answers of [`Jobs::apply`]. Callers may have left.
    fn answer(self: Box<Self>, answers: Answers);

    /// Answers each caller with an error.
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
            // The callers see that the store has stopped. A test shows that each operation has its own order.
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
