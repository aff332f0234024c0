//! Prompts of leased requests, read with one query for a whole run, so that a freed slot is filled at once.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overnight_domain::scheduler::{Lease, SchedulerCommand};

use super::subjects::{Subject, Subjects, ended_lease};
use crate::store::queue::{self, Prompt};
use crate::store::{Store, StoreError};

/// Prompts that were read ahead. Large ones are not: they are read when their turn comes.
pub(super) struct Prompts {
    store: Store,
    ahead: Mutex<HashMap<i64, Prompt>>,
    /// Leased requests that their engine refused for an output limit of ours.
    refusals: Mutex<HashSet<i64>>,
    subjects: Arc<Subjects>,
}

impl Prompts {
    pub(super) fn new(store: Store, subjects: Arc<Subjects>) -> Self {
        Self { store, ahead: Mutex::default(), refusals: Mutex::default(), subjects }
    }

    /// Reads the small prompts of a run. What cannot be read now is tried again at its turn.
    pub(super) async fn fetch(&self, leases: &[Lease]) {
        let seqs: Vec<i64> = leases.iter().map(|lease| lease.key.position.seq).collect();
        match queue::list_small_prompts(&self.store, &seqs).await {
            Ok(prompts) => self.ahead().extend(prompts.into_iter().map(|prompt| (prompt.seq, prompt))),
            Err(error) => tracing::warn!(%error, "prefetching prompts failed"),
        }
    }

    /// The prompt of a leased request; `None` where the request is gone.
    pub(super) async fn take(&self, seq: i64) -> Result<Option<Prompt>, StoreError> {
        let ahead = self.ahead().remove(&seq);
        match ahead {
            Some(prompt) => Ok(Some(prompt)),
            None => queue::find_prompt(&self.store, seq).await,
        }
    }

    /// The request is not sent after all.
    pub(super) fn forget(&self, seq: i64) {
        self.ahead().remove(&seq);
        self.refusals().remove(&seq);
        self.subjects.take(seq);
    }

    /// Where a command ends the lease of a request, that is not sent any more; whom the command is about, after a failed attempt.
    pub(super) fn let_go(&self, command: &SchedulerCommand) -> Option<Subject> {
        let seq = ended_lease(command)?;
        let subject = self.subjects.take(seq);
        self.forget(seq);
        subject
    }

    /// The request was refused for an output limit of ours: it is sent without one the next time under this lease.
    pub(super) fn note_refusal(&self, seq: i64) {
        self.refusals().insert(seq);
    }

    /// Whether the request is sent without an output limit of ours this time.
    pub(super) fn take_refusal(&self, seq: i64) -> bool {
        self.refusals().remove(&seq)
    }

    fn refusals(&self) -> MutexGuard<'_, HashSet<i64>> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ahead(&self) -> MutexGuard<'_, HashMap<i64, Prompt>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
