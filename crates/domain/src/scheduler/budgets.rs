//! Replicas with daily budgets (`daily_budget`): one whose budget is used up is sent no requests until the next day, like one outside its
//! hours, and others take its part of the order.
//!
//! An account whose next request needs more than is left is passed over. Otherwise one account could stop an engine for all others with a
//! large request.

use std::collections::BTreeSet;

use super::Scheduler;
use super::daily_budget::{DailyReservation, DailyUse};
use super::fairness::Model;
use super::messages::{AccountKey, AttemptError, ModelKey, ReplicaKey, SchedulerCommand};
use super::replicas::ReplicaState;

impl AttemptError {
    /// Whether the engine refused the attempt, so it used no tokens.
    const fn is_refusal(&self) -> bool {
        matches!(self, Self::Status { .. } | Self::UnlistedModel { .. } | Self::LimitRefused)
    }
}

impl Model {
    /// Whether accounts other than these may have work.
    pub(super) fn has_others(&self, accounts: &BTreeSet<AccountKey>) -> bool {
        self.partitions.iter().any(|(account, it)| it.is_visible() && !accounts.contains(account))
    }
}

impl ReplicaState {
    /// Requests that its rate limits and its budget allow at `now`.
    pub(super) fn sendable(&self, now: i64) -> usize {
        self.rate.room(now).min(self.budget.room())
    }
}

impl Scheduler {
    /// The models for which a replica's daily budget is used up, and until when, in milliseconds.
    pub fn over_budget(&self, replica: ReplicaKey) -> Option<(Vec<ModelKey>, i64)> {
        let replica = self.replicas.get(&replica).filter(|it| !it.spent_for.is_empty())?;
        Some((replica.spent_for.iter().copied().collect(), replica.budget.ends_at()))
    }

    /// Requests and tokens used today, those in flight as estimated; `None` without a budget.
    pub fn used_today(&self, replica: ReplicaKey) -> Option<(i64, i64)> {
        let used = self.replicas.get(&replica)?.budget.used()?;
        Some((used.requests, used.tokens))
    }

    /// Takes the use that is not in the store yet. Called at the end, when the store is asked for no sums any more.
    pub fn take_unwritten_uses(&mut self) -> Vec<DailyUse> {
        let undone = self.undone.iter().filter_map(|command| match command {
            SchedulerCommand::CountUse(used) => Some(*used),
            _ => None,
        });
        let rest = self.replicas.values_mut().filter_map(|it| it.budget.take_unwritten());
        undone.chain(rest).collect()
    }

    /// Once a second: adds new use to the store's.
    pub(super) fn count_uses(&mut self) {
        let uses = self.replicas.values_mut().filter_map(|it| it.budget.ask());
        self.out.extend(uses.map(SchedulerCommand::CountUse));
    }

    pub(super) fn note_use(&mut self, sum: DailyUse) {
        if let Some(replica) = self.replicas.get_mut(&sum.replica) {
            replica.budget.note_stored(sum);
            self.touched.insert(sum.replica);
        }
    }

    /// Takes a replica out for models of which no request fits into its budget at `now`, or uses it for them again.
    pub(super) fn follow_budget(&mut self, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let rest = replica.budget.pass(self.time.shown(now));
        let sum = if replica.budget.is_unknown() { replica.budget.ask() } else { None };
        self.out.extend(rest.into_iter().chain(sum).map(SchedulerCommand::CountUse));
        let is_spent = |model: &&ModelKey| replica.budget.is_spent_for(**model);
        let spent: BTreeSet<_> = replica.config.models.iter().filter(is_spent).copied().collect();
        if spent == replica.spent_for {
            return;
        }
        // What is leased for it fits, and continues.
        replica.spent_for = spent;
        for model in replica.config.models.clone() {
            self.recount_capacity(model);
            self.touch_model(model);
        }
    }

    /// None of the model's next requests fits into the replica's budget.
    pub(super) fn hold_back(&mut self, key: ReplicaKey, model: ModelKey, now: i64) {
        if let Some(replica) = self.replicas.get_mut(&key) {
            replica.budget.hold_back(model, self.time.shown(now));
            self.touched.insert(key);
        }
    }

    /// An attempt that the engine refused used no tokens. It remains a request.
    pub(super) fn refund(&mut self, seq: i64, error: &AttemptError) {
        let Some(held) = self.leases_held.get_mut(&seq).filter(|_| error.is_refusal()) else { return };
        let (key, reservation) = (held.replica, held.budgeted.take());
        self.correct_use(key, reservation, 0);
    }

    pub(super) fn correct_use(
        &mut self,
        key: ReplicaKey,
        reservation: Option<DailyReservation>,
        tokens: i64,
    ) {
        if let (Some(replica), Some(reservation)) = (self.replicas.get_mut(&key), reservation) {
            replica.budget.correct(reservation, tokens);
            self.touched.insert(key);
        }
    }
}
