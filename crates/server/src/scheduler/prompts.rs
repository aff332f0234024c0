//! Prompts of leased requests, read with one query for a whole run, so that a freed slot is filled at once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use overnight_domain::scheduler::Lease;

use crate::store::queue::{self, Prompt};
use crate::store::{Store, StoreError};

/// Prompts that were read ahead. Large ones are not: they are read when their turn comes.
pub(super) struct Prompts {
    store: Store,
    ahead: Mutex<HashMap<i64, Prompt>>,
}

impl Prompts {
    pub(super) fn new(store: Store) -> Self {
        Self { store, ahead: Mutex::default() }
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
    }

    fn ahead(&self) -> MutexGuard<'_, HashMap<i64, Prompt>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
