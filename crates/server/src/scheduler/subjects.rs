//! Whom a request's attempts are about, in logs and traces: the names that the scheduler's numbers do not have.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use overnight_domain::ids::{AccountId, RequestId};
use overnight_domain::scheduler::{AccountKey, SchedulerCommand, SchedulerInput};
use overnight_domain::traces::TraceContext;
use tracing::{Instrument, Span};

use super::{commands, spans};
use crate::app::Services;
use crate::store::Store;
use crate::store::identity::accounts;

/// A request under a lease, as what is logged and traced of it names it.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) request: RequestId,
    pub(super) log: Span,
    /// The span that the request came by, where it is traced.
    pub(super) trace: Option<TraceContext>,
}

impl Subject {
    pub(super) const fn traced(&self) -> (Option<TraceContext>, RequestId) {
        (self.trace, self.request)
    }
}

/// The names of accounts, which never change, and the subjects of attempts that failed until it is decided what follows.
pub(super) struct Subjects {
    store: Store,
    accounts: Mutex<HashMap<AccountKey, AccountId>>,
    failed: Mutex<HashMap<i64, Subject>>,
}

impl Subjects {
    pub(super) fn new(store: Store) -> Self {
        Self { store, accounts: Mutex::default(), failed: Mutex::default() }
    }

    /// What an account is called; `None` where that cannot be read now.
    pub(super) async fn account(&self, key: AccountKey) -> Option<AccountId> {
        let known = lock(&self.accounts).get(&key).copied();
        if known.is_some() {
            return known;
        }
        let id = accounts::get(&self.store, key).await.ok()?.id;
        lock(&self.accounts).insert(key, id);
        Some(id)
    }

    /// The attempt of a request failed: what follows is about it.
    pub(super) fn note_failed(&self, seq: i64, subject: Subject) {
        lock(&self.failed).insert(seq, subject);
    }

    /// The request is no longer leased, or nothing failed.
    pub(super) fn take(&self, seq: i64) -> Option<Subject> {
        lock(&self.failed).remove(&seq)
    }

    /// Does a command at the store, as [`commands::perform`], in the name of its subject.
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
            // It is done again later.
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

    /// Whether an attempt of the request failed, and it is still leased.
    pub(super) fn has_failed(&self, seq: i64) -> bool {
        lock(&self.failed).contains_key(&seq)
    }
}

/// The request whose lease a command ends.
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
