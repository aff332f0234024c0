//! Prompts of leased requests, read with one query for a whole run, so that a freed slot is filled immediately.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overnight_domain::scheduler::{Lease, SchedulerCommand};
use overnight_store::queue::{self, Prompt};
use overnight_store::{Store, StoreError};

use super::subjects::{Subject, Subjects, ended_lease};

/// Prompts that were read ahead. Large ones are read when they are sent.
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

    /// Reads the small prompts of a run. A failed read is repeated when the request is sent.
    pub(super) async fn fetch(&self, leases: &[Lease]) {
        let seqs: Vec<i64> = leases.iter().map(|lease| lease.key.position.seq).collect();
        match queue::list_small_prompts(&self.store, &seqs).await {
            Ok(prompts) => self.ahead().extend(prompts.into_iter().map(|prompt| (prompt.seq, prompt))),
            Err(error) => tracing::warn!(%error, "prefetching prompts failed"),
        }
    }

    /// The prompt of a leased request; `None` if the request no longer exists.
    pub(super) async fn take(&self, seq: i64) -> Result<Option<Prompt>, StoreError> {
        let ahead = self.ahead().remove(&seq);
        match ahead {
            Some(prompt) => Ok(Some(prompt)),
            None => queue::find_prompt(&self.store, seq).await,
        }
    }

    pub(super) fn forget(&self, seq: i64) {
        self.ahead().remove(&seq);
        self.refusals().remove(&seq);
        self.subjects.take(seq);
    }

    /// If a command ends a request's lease, drops its data; after a failed attempt, returns the command's subject.
    pub(super) fn let_go(&self, command: &SchedulerCommand) -> Option<Subject> {
        let seq = ended_lease(command)?;
        let subject = self.subjects.take(seq);
        self.forget(seq);
        subject
    }

    /// The request was refused for an output limit of ours: its next attempt under this lease has none.
    pub(super) fn note_refusal(&self, seq: i64) {
        self.refusals().insert(seq);
    }

    /// Whether this attempt has no output limit of ours.
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
