//! The writes of one transaction.

use std::collections::BTreeMap;

use overnight_base::planted_bugs::Bug;
use overnight_base::supervision::Supervisor;

use super::WRITER;
use super::operation::{Answers, Jobs};
use crate::database::{CommitError, Connection, Numbered};
use crate::effects::AfterCommit;
use crate::error::StoreError;
use crate::writes::{Sequences, WriteContext, WriteOrder, WriteTransaction};

/// Where a simulated crash hits a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// Written, but not committed.
    BeforeCommit,
    /// Durable, but not answered.
    AfterCommit,
}

/// In the order in which they are done.
#[derive(Default)]
pub(super) struct WriteGroup(BTreeMap<WriteOrder, Box<dyn Jobs>>);

/// A durable group, not answered yet.
pub(super) struct Done {
    pub(super) group: WriteGroup,
    pub(super) answers: GroupAnswers,
}

/// Answers of a durable group: to its callers, and to the metrics.
pub(super) struct GroupAnswers {
    of_operations: Vec<Answers>,
    after_commit: AfterCommit,
}

/// A group that was not committed, or whose outcome is unknown.
pub(super) struct Failure {
    pub(super) group: WriteGroup,
    pub(super) error: StoreError,
    pub(super) unanswered: Option<(Numbered, Box<GroupAnswers>)>,
}

/// Why a group was not committed, or its outcome is unknown.
pub(super) struct NotDone {
    pub(super) error: StoreError,
    /// If the commit was not answered: the number to ask for its outcome, and the answers for a success.
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

    pub(super) fn split(self) -> Vec<Self> {
        let singles = self.0.into_values().flat_map(Jobs::split);
        singles.map(|jobs| Self(BTreeMap::from([(jobs.order(), jobs)]))).collect()
    }

    /// Answers every caller with an error.
    pub(super) fn refuse(self, why: impl Fn() -> StoreError) {
        for jobs in self.0.into_values() {
            jobs.refuse(&why);
        }
    }

    /// Does everything in one transaction; returns the answers to give once it is durable.
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
        // A write that panics counts as forbidden by the data: its group is rolled back, and each member runs alone.
        let applied = supervisor.item(WRITER, "a group of writes", self.apply(&mut write)).await;
        let refused = |panic| Err(StoreError::Refused(format!("the write panicked at {panic}")));
        let answers = match applied.unwrap_or_else(refused) {
            Ok(answers) => answers,
            Err(error) => {
                // If this fails, the connection is lost, and the transaction with it.
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

    /// Each operation for all of its jobs: [`Jobs::apply`] is the `Operation::apply` in the file of its noun.
    async fn apply(&self, write: &mut WriteTransaction<'_>) -> Result<Vec<Answers>, StoreError> {
        let mut answers = Vec::with_capacity(self.0.len());
        for jobs in self.0.values() {
            answers.push(jobs.apply(write).await?);
        }
        write.apply_effects().await?;
        Ok(answers)
    }
}
