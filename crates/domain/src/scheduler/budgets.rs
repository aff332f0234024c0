//! Replicas with daily budgets (`daily_budget`): one whose budget is used up is sent nothing until the next day, like one outside its
//! hours, and others take its part of the order.
//!
//! Where something is left and an account's next request takes more, that account is passed over: else one account could stop an
//! engine for all others by a request of many tokens.

use std::collections::BTreeSet;

use super::Scheduler;
use super::daily_budget::{DailyReservation, DailyUse};
use super::fairness::Model;
use super::messages::{AccountKey, AttemptError, ModelKey, ReplicaKey, SchedulerCommand};
use super::replicas::ReplicaState;

impl AttemptError {
    /// Whether the engine answered that it did nothing: then no tokens were used.
    const fn is_refusal(&self) -> bool {
        matches!(self, Self::Status { .. } | Self::UnlistedModel { .. } | Self::LimitRefused)
    }
}

impl Model {
    /// Whether accounts may have work beside these.
    pub(super) fn has_others(&self, accounts: &BTreeSet<AccountKey>) -> bool {
        self.partitions.iter().any(|(account, it)| it.is_visible() && !accounts.contains(account))
    }
}

impl ReplicaState {
    /// How many requests may be sent to it at `now`, as far as its rate limits and its budget go.
    pub(super) fn sendable(&self, now: i64) -> usize {
        self.rate.room(now).min(self.budget.room())
    }
}

impl Scheduler {
    /// Until when a replica is sent nothing of these models because its daily budget is used up, in milliseconds.
    pub fn over_budget(&self, replica: ReplicaKey) -> Option<(Vec<ModelKey>, i64)> {
        let replica = self.replicas.get(&replica).filter(|it| !it.spent_for.is_empty())?;
        Some((replica.spent_for.iter().copied().collect(), replica.budget.ends_at()))
    }

    /// The requests and tokens that a replica used today, those in flight as estimated; `None` without a budget.
    pub fn used_today(&self, replica: ReplicaKey) -> Option<(i64, i64)> {
        let used = self.replicas.get(&replica)?.budget.used()?;
        Some((used.requests, used.tokens))
    }

    /// What is still to be added to the days of replicas: asked for at the end, when the store is asked for nothing any more.
    pub fn take_unwritten_uses(&mut self) -> Vec<DailyUse> {
        let undone = self.undone.iter().filter_map(|command| match command {
            SchedulerCommand::CountUse(used) => Some(*used),
            _ => None,
        });
        let rest = self.replicas.values_mut().filter_map(|it| it.budget.take_unwritten());
        undone.chain(rest).collect()
    }

    /// Once a second: what was used is added to what the store knows.
    pub(super) fn count_uses(&mut self) {
        let uses = self.replicas.values_mut().filter_map(|it| it.budget.ask());
        self.out.extend(uses.map(SchedulerCommand::CountUse));
    }

    /// The store knows what was used on a day.
    pub(super) fn note_use(&mut self, sum: DailyUse) {
        if let Some(replica) = self.replicas.get_mut(&sum.replica) {
            replica.budget.note_stored(sum);
            self.touched.insert(sum.replica);
        }
    }

    /// Takes a replica out for models of which nothing fits into its budget at `now`, or uses it for them again.
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
        // What is leased for it fits: that goes on.
        replica.spent_for = spent;
        for model in replica.config.models.clone() {
            self.recount_capacity(model);
            self.touch_model(model);
        }
    }

    /// None of the requests that a replica found next for a model fits into its budget.
    pub(super) fn hold_back(&mut self, key: ReplicaKey, model: ModelKey, now: i64) {
        if let Some(replica) = self.replicas.get_mut(&key) {
            replica.budget.hold_back(model, self.time.shown(now));
            self.touched.insert(key);
        }
    }

    /// An attempt failed: where the engine refused it, it used no tokens of the budget. It remains a request.
    pub(super) fn refund(&mut self, seq: i64, error: &AttemptError) {
        let Some(held) = self.leases_held.get_mut(&seq).filter(|_| error.is_refusal()) else { return };
        let (key, reservation) = (held.replica, held.budgeted.take());
        self.correct_use(key, reservation, 0);
    }

    /// A request ended that took so many tokens.
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
