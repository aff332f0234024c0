//! What joins in one transaction, and in which order it is done.

use crate::store::batches::{CancelBatch, CancelChunk, NewBatch};
use crate::store::database::{CommitError, Connection, Numbered};
use crate::store::error::StoreError;
use crate::store::identity::api_keys::NoteUses;
use crate::store::nodes::engine_reports::ReportEngines;
use crate::store::nodes::replicas::Claim;
use crate::store::nodes::{Farewell, Heartbeat, Owner, VoidLeases};
use crate::store::outbox::{Announcer, ClaimEvents, ConcludeTries};
use crate::store::queue::expiry::Expire;
use crate::store::queue::leases::{GiveBack, LeaseRun};
use crate::store::queue::releases::Release;
use crate::store::queue::settle::Settle;
use crate::store::requests::{CancelRequest, NewRequest};
use crate::store::writer::operation::{Job, Lane, Operation, answer_all, refuse_all};
use crate::store::writer::unit::{Sequences, Told, Unit};

/// Where a simulated crash finds a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// Everything is written, nothing is committed.
    BeforeCommit,
    /// It is durable, and nobody was told.
    AfterCommit,
}

/// Declares the operations in the order in which a group does them. What is taken in comes last: it locks accounts.
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
    conclusions: ConcludeTries,
    event_claims: ClaimEvents,
    claims: Claim,
    key_uses: NoteUses,
    engine_reports: ReportEngines,
    farewells: Farewell,
    releases: Release,
    batches: NewBatch,
    inserts: NewRequest,
}

/// A group that was not answered, and why.
pub(super) struct Failure {
    pub(super) group: Group,
    pub(super) error: StoreError,
    /// Where its commit was not answered: by which number to ask what became of it, and what to say if it was made.
    pub(super) unanswered: Option<(Numbered, Box<Outcome>)>,
}

/// A group that is durable, and of which nobody knows yet.
pub(super) struct Done {
    pub(super) group: Group,
    pub(super) outcome: Outcome,
}

impl Done {
    /// Says what came of it.
    pub(super) fn tell(self) {
        self.outcome.told.tell();
        self.group.answer(self.outcome.answers);
    }
}

/// What is said of a group once it is durable: to its askers, and to the figures.
pub(super) struct Outcome {
    answers: Answers,
    told: Told,
}

impl Failure {
    /// Nothing was done.
    fn not_done(group: Group, error: StoreError) -> Self {
        Self { group, error, unanswered: None }
    }
}

impl Group {
    /// Does everything in one transaction; what is to be said of it once it is durable.
    pub(super) async fn run(
        self,
        connection: &mut Connection,
        sequences: &mut Sequences,
        owner: &Owner,
        announcer: &Announcer,
        number: i64,
        crash: Option<CrashPoint>,
    ) -> Result<Done, Failure> {
        let mut unit = match Unit::begin(connection, *sequences, owner, announcer, number).await {
            Ok(unit) => unit,
            Err(error) => return Err(Failure::not_done(self, error)),
        };
        let answers = match self.write(&mut unit).await {
            Ok(answers) => answers,
            Err(error) => {
                // Where this fails the connection is lost, and the transaction with it.
                let _ = unit.abandon().await;
                return Err(Failure::not_done(self, error));
            }
        };
        if crash == Some(CrashPoint::BeforeCommit) {
            let error = unit.abandon().await.err().unwrap_or(StoreError::Stopped);
            return Err(Failure::not_done(self, error));
        }
        let (committed, told) = unit.commit().await;
        let outcome = Outcome { answers, told };
        match committed {
            Ok(next) => {
                *sequences = next;
                Ok(Done { group: self, outcome })
            }
            Err(CommitError::NotDone(error)) => Err(Failure::not_done(self, error)),
            Err(CommitError::Unknown(id, error)) => {
                Err(Failure { group: self, error, unanswered: Some((id, Box::new(outcome))) })
            }
        }
    }

    async fn write(&self, unit: &mut Unit<'_>) -> Result<Answers, StoreError> {
        let answers = self.apply(unit).await?;
        unit.finish().await?;
        Ok(answers)
    }
}
