//! The writes of one transaction, and how they are done.

use std::collections::BTreeMap;

use overnight_base::planted_bugs::Bug;
use overnight_base::supervision::Supervisor;

use super::WRITER;
use super::operation::{Answers, Jobs};
use crate::store::database::{CommitError, Connection, Numbered};
use crate::store::effects::AfterCommit;
use crate::store::error::StoreError;
use crate::store::writes::{Sequences, WriteContext, WriteOrder, WriteTransaction};

/// Where a simulated crash finds a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// Everything is written, nothing is committed.
    BeforeCommit,
    /// It is durable, and nobody was answered.
    AfterCommit,
}

/// The writes of one transaction, in the order in which they are done.
#[derive(Default)]
pub(super) struct WriteGroup(BTreeMap<WriteOrder, Box<dyn Jobs>>);

/// A group that is durable, and of which no asker knows yet.
pub(super) struct Done {
    pub(super) group: WriteGroup,
    pub(super) answers: GroupAnswers,
}

/// What is answered once a group is durable: to its askers, and to the metrics.
pub(super) struct GroupAnswers {
    of_operations: Vec<Answers>,
    after_commit: AfterCommit,
}

/// A group that was not committed, or of which that is not known, and why.
pub(super) struct Failure {
    pub(super) group: WriteGroup,
    pub(super) error: StoreError,
    /// As [`NotDone::unanswered`].
    pub(super) unanswered: Option<(Numbered, Box<GroupAnswers>)>,
}

/// Why a group was not committed, or is not known to be.
pub(super) struct NotDone {
    pub(super) error: StoreError,
    /// Where its commit was not answered: the number by which its outcome is asked for, and the answers if it was made.
    pub(super) unanswered: Option<(Numbered, Box<GroupAnswers>)>,
}

impl Done {
    pub(super) fn answer(self) {
        self.answers.after_commit.run();
        for (jobs, answers) in self.group.0.into_values().zip(self.answers.of_operations) {
            jobs.answer(answers);
        }
    }
}

impl From<StoreError> for NotDone {
    fn from(error: StoreError) -> Self {
        Self { error, unanswered: None }
    }
}

impl WriteGroup {
    pub(super) fn push(&mut self, jobs: Box<dyn Jobs>) {
        match self.0.get_mut(&jobs.order()) {
            Some(list) => list.append(jobs),
            None => _ = self.0.insert(jobs.order(), jobs),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.0.values().map(|jobs| jobs.count()).sum()
    }

    /// One group for each write.
    pub(super) fn split(self) -> Vec<Self> {
        let singles = self.0.into_values().flat_map(Jobs::split);
        singles.map(|jobs| Self(BTreeMap::from([(jobs.order(), jobs)]))).collect()
    }

    /// Answers every asker that nothing was done.
    pub(super) fn refuse(self, why: impl Fn() -> StoreError) {
        for jobs in self.0.into_values() {
            jobs.refuse(&why);
        }
    }

    /// Does everything in one transaction; what to answer once it is durable.
    pub(super) async fn run(
        &self,
        connection: &mut Connection,
        sequences: &mut Sequences,
        context: &WriteContext,
        number: i64,
        crash: Option<CrashPoint>,
        supervisor: &Supervisor,
    ) -> Result<GroupAnswers, NotDone> {
        let mut write = WriteTransaction::begin(connection, *sequences, context, number).await?;
        // A write that panics is refused as one that the data forbid: its group is rolled back, and each member runs alone.
        let applied = supervisor.item(WRITER, "a group of writes", self.apply(&mut write)).await;
        let refused = |panic| Err(StoreError::Refused(format!("the write panicked at {panic}")));
        let answers = match applied.unwrap_or_else(refused) {
            Ok(answers) => answers,
            Err(error) => {
                // Where this fails the connection is lost, and the transaction with it.
                let _ = write.roll_back().await;
                return Err(error.into());
            }
        };
        if crash == Some(CrashPoint::BeforeCommit) {
            let error = write.roll_back().await.err().unwrap_or(StoreError::Stopped);
            return Err(error.into());
        }
        let (committed, after_commit) = write.commit().await;
        let answers = GroupAnswers { of_operations: answers, after_commit };
        match committed {
            Ok(next) => {
                *sequences = next;
                Ok(answers)
            }
            Err(CommitError::Unknown(..)) if Bug::AckBeforeCommit.is_planted() => Ok(answers),
            Err(CommitError::NotDone(error)) => Err(error.into()),
            Err(CommitError::Unknown(id, error)) => {
                Err(NotDone { error, unanswered: Some((id, Box::new(answers))) })
            }
        }
    }

    /// Does every operation for all of its jobs: [`Jobs::apply`] is the `Operation::apply` that stands in the file of its noun.
    async fn apply(&self, write: &mut WriteTransaction<'_>) -> Result<Vec<Answers>, StoreError> {
        let mut answers = Vec::with_capacity(self.0.len());
        for jobs in self.0.values() {
            answers.push(jobs.apply(write).await?);
        }
        write.apply_effects().await?;
        Ok(answers)
    }
}
