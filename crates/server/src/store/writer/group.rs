//! What joins in one transaction, and in which order it is done.

use sqlx::SqliteConnection;

use super::operation::{Job, Lane, Operation, answer_all, refuse_all};
use super::unit::{Sequences, Unit};
use crate::store::batches::{CancelBatch, CancelChunk, NewBatch};
use crate::store::error::StoreError;
use crate::store::expiry::Expire;
use crate::store::leases::{GiveBack, LeaseRun};
use crate::store::owners::{Heartbeat, OwnerKey, VoidLeases};
use crate::store::releases::Release;
use crate::store::requests::{CancelRequest, NewRequest};
use crate::store::settle::Settle;

/// Where a simulated crash finds a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// Everything is written, nothing is committed.
    BeforeCommit,
    /// It is durable, and nobody was told.
    AfterCommit,
}

/// Declares the operations in the order in which a group does them.
macro_rules! operations {
    ($($field:ident: $operation:ident,)*) => {
        /// A write that waits for its group.
        pub(in crate::store) enum Write {
            $($operation(Job<$operation>),)*
        }

        $(impl From<Job<$operation>> for Write {
            fn from(job: Job<$operation>) -> Self {
                Self::$operation(job)
            }
        })*

        impl Write {
            pub(super) fn lane(&self) -> Lane {
                match self { $(Self::$operation(_) => $operation::LANE,)* }
            }
            pub(super) fn rows(&self) -> usize {
                match self { $(Self::$operation(job) => job.operation.rows(),)* }
            }
            pub(super) fn bytes(&self) -> usize {
                match self { $(Self::$operation(job) => job.operation.bytes(),)* }
            }
        }

        /// The writes of one transaction.
        #[derive(Default)]
        pub(in crate::store) struct Group {
            $($field: Vec<Job<$operation>>,)*
        }

        struct Answers {
            $($field: Vec<<$operation as Operation>::Answer>,)*
        }

        impl Group {
            pub(super) fn push(&mut self, write: Write) {
                match write { $(Write::$operation(job) => self.$field.push(job),)* }
            }

            async fn apply(&self, unit: &mut Unit<'_>) -> Result<Answers, StoreError> {
                $(let $field = match self.$field.as_slice() {
                    [] => Vec::new(),
                    jobs => $operation::apply(jobs, unit).await?,
                };)*
                Ok(Answers { $($field,)* })
            }

            fn answer(self, answers: Answers) {
                $(answer_all(self.$field, answers.$field);)*
            }

            /// Tells everybody that nothing was done.
            pub(super) fn refuse(self, why: impl Fn() -> StoreError) {
                $(refuse_all(self.$field, &why);)*
            }

            /// How many writes it holds.
            pub(super) fn count(&self) -> usize {
                0 $(+ self.$field.len())*
            }

            /// One group for each member.
            pub(super) fn split(self) -> Vec<Group> {
                let mut singles = Vec::new();
                $(singles.extend(self.$field.into_iter().map(|job| {
                    Group { $field: vec![job], ..Group::default() }
                }));)*
                singles
            }
        }
    };
}

operations! {
    heartbeats: Heartbeat,
    settlements: Settle,
    request_cancels: CancelRequest,
    batch_cancels: CancelBatch,
    cancel_chunks: CancelChunk,
    expiries: Expire,
    give_backs: GiveBack,
    voids: VoidLeases,
    leases: LeaseRun,
    releases: Release,
    inserts: NewRequest,
    batches: NewBatch,
}

impl Group {
    /// Does everything in one transaction and answers once it is durable; on an error nothing is done or answered.
    pub(super) async fn run(
        self,
        connection: &mut SqliteConnection,
        sequences: &mut Sequences,
        owner: OwnerKey,
        crash: Option<CrashPoint>,
    ) -> Result<(), (Self, StoreError)> {
        match self.write(connection, *sequences, owner, crash).await {
            Ok(None) => Ok(()),
            Ok(Some((answers, next))) => {
                *sequences = next;
                self.answer(answers);
                Ok(())
            }
            Err(error) => Err((self, error)),
        }
    }

    /// `None` where a crash was asked for: nobody is told anything.
    async fn write(
        &self,
        connection: &mut SqliteConnection,
        sequences: Sequences,
        owner: OwnerKey,
        crash: Option<CrashPoint>,
    ) -> Result<Option<(Answers, Sequences)>, StoreError> {
        let mut unit = Unit::begin(connection, sequences, owner).await?;
        let answers = self.apply(&mut unit).await?;
        if crash == Some(CrashPoint::BeforeCommit) {
            unit.abandon().await?;
            return Ok(None);
        }
        let next = unit.commit().await?;
        Ok(crash.is_none().then_some((answers, next)))
    }
}
