//! Names for logs and traces, which the scheduler's numbers lack.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use overnight_app::Services;
use overnight_domain::ids::{AccountId, RequestId};
use overnight_domain::scheduler::{AccountKey, SchedulerCommand, SchedulerInput};
use overnight_domain::traces::TraceContext;
use overnight_store::Store;
use overnight_store::identity::accounts;
use tracing::{Instrument, Span};

use super::{commands, spans};

/// A leased request, as logs and traces name it.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) request: RequestId,
    pub(super) log: Span,
    /// The request's parent span, if it is traced.
    pub(super) trace: Option<TraceContext>,
}

impl Subject {
    pub(super) const fn traced(&self) -> (Option<TraceContext>, RequestId) {
        (self.trace, self.request)
    }
}

/// The names of accounts, which never change, and the subjects of failed attempts until their consequence is decided.
pub(super) struct Subjects {
    store: Store,
    accounts: Mutex<HashMap<AccountKey, AccountId>>,
    failed: Mutex<HashMap<i64, Subject>>,
}

impl Subjects {
    pub(super) fn new(store: Store) -> Self {
        Self { store, accounts: Mutex::default(), failed: Mutex::default() }
    }

    /// An account's name; `None` if it cannot be read now.
    pub(super) async fn account(&self, key: AccountKey) -> Option<AccountId> {
        let known = lock(&self.accounts).get(&key).copied();
        if known.is_some() {
            return known;
        }
        let id = accounts::get(&self.store, key).await.ok()?.id;
        lock(&self.accounts).insert(key, id);
        Some(id)
    }

    /// The request's attempt failed: further commands are about it.
    pub(super) fn note_failed(&self, seq: i64, subject: Subject) {
        lock(&self.failed).insert(seq, subject);
    }

    /// Called when the request is no longer leased, or nothing failed.
    pub(super) fn take(&self, seq: i64) -> Option<Subject> {
        lock(&self.failed).remove(&seq)
    }

    /// As [`commands::perform`], with the subject in log lines.
    pub(super) async fn perform(
        &self,
        services: &Services,
        command: SchedulerCommand,
        subject: Subject,
        now: i64,
    ) -> Option<SchedulerInput> {
        let failure = match &command {
            SchedulerCommand::Fail { code, .. } => Some(code.as_str()),
            _ => None,
        };
        let performing = commands::perform(&services.store, command, now);
        let told = performing.instrument(subject.log.clone()).await;
        match &told {
            // It is repeated later.
            Some(SchedulerInput::Undone(command)) => {
                ended_lease(command).into_iter().for_each(|seq| self.note_failed(seq, subject.clone()));
            }
            _ if failure.is_some() => {
                spans::record_settle(&services.traces, subject.traced(), now, true, failure);
            }
            _ => {}
        }
        told
    }

    /// Whether an attempt of the leased request failed.
    pub(super) fn has_failed(&self, seq: i64) -> bool {
        lock(&self.failed).contains_key(&seq)
    }
}

pub(super) fn ended_lease(command: &SchedulerCommand) -> Option<i64> {
    match command {
        SchedulerCommand::ReleaseLease { lease, .. } | SchedulerCommand::Fail { lease, .. } => {
            Some(lease.key.position.seq)
        }
        _ => None,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
