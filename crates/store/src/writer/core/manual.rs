//! The writer step by step, for tests that choose what joins a group and where it crashes.

use super::WriterCore;
use crate::error::{StoreError, Trouble};
use crate::writer::group::{CrashPoint, Failure};

/// The writer in the hand of a test: it writes only on request.
pub struct ManualWriter(pub(super) WriterCore);

impl ManualWriter {
    pub(crate) fn new(core: WriterCore) -> Self {
        Self(core)
    }

    /// Commits the next group and answers its callers; `false` if none waits. Handles constraint errors as the task does; returns any
    /// other.
    pub async fn commit_next(&mut self) -> Result<bool, StoreError> {
        let Some(group) = self.0.queues.take() else { return Ok(false) };
        let core = &mut self.0;
        let group = match core.attempt(group, None).await {
            Ok(done) => {
                done.answer();
                return Ok(true);
            }
            Err(Failure { group, error, .. }) if error.trouble() == Trouble::Constraint => group,
            Err(Failure { error, .. }) => return Err(error),
        };
        for single in group.split() {
            match core.attempt(single, None).await {
                Ok(done) => done.answer(),
                Err(Failure { group, error, .. }) => group.refuse(|| StoreError::Refused(error.to_string())),
            }
        }
        Ok(true)
    }

    /// Writes the next group up to `point` and ends as a killed process would, without answers.
    pub async fn crash(mut self, point: CrashPoint) -> Result<(), StoreError> {
        if let Some(group) = self.0.queues.take() {
            match self.0.attempt(group, Some(point)).await {
                // Nobody is told anything.
                Ok(_) | Err(Failure { error: StoreError::Stopped, .. }) => {}
                Err(Failure { error, .. }) => return Err(error),
            }
        }
        self.0.queues.close();
        self.0.connection.close().await
    }
}
