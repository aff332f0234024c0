//! Read-only queries for metrics and the shell.

use super::Scheduler;
use super::breaker::Breaker;
use super::messages::{Lease, ModelKey, ReplicaKey};

impl Scheduler {
    /// Requests sent to the replica and not answered.
    pub fn in_flight(&self, replica: ReplicaKey) -> usize {
        self.replicas.get(&replica).map_or(0, |it| it.in_flight.len())
    }

    /// Whether anything is leased, or being leased, for a replica that is used or was.
    pub fn is_driven(&self, replica: ReplicaKey) -> bool {
        self.replicas.get(&replica).is_some_and(|it| it.claimed() > 0)
    }

    /// The leases that are held.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.leases_held.values().map(|held| &held.lease)
    }

    /// Whether the replica is paused for any of its models.
    pub fn is_paused(&self, replica: ReplicaKey) -> bool {
        self.pause_of(replica).is_some()
    }

    fn pause_of(&self, replica: ReplicaKey) -> Option<&Breaker> {
        self.replicas.get(&replica)?.paused().next().map(|(_, breaker)| breaker)
    }

    /// Why the replica was paused last, while it is.
    pub fn pause_reason(&self, replica: ReplicaKey) -> Option<&str> {
        self.pause_of(replica).map(Breaker::reason)
    }

    /// Until when nothing is sent to the replica, in milliseconds; `None` where it is not paused.
    pub fn paused_until(&self, replica: ReplicaKey) -> Option<i64> {
        self.pause_of(replica)?.probe_at()
    }

    /// Requests of the model that wait in the queue, as far as known: a hint.
    pub fn waiting(&self, model: ModelKey) -> i64 {
        let Some(model) = self.models.get(&model) else { return 0 };
        let aside = i64::try_from(model.suspects.len()).unwrap_or(i64::MAX);
        model.partitions.values().fold(aside, |sum, partition| sum.saturating_add(partition.waiting()))
    }

    /// Whether no request is leased or being leased: what a shutdown waits for.
    pub fn is_idle(&self) -> bool {
        self.leases_held.is_empty() && self.replicas.values().all(|replica| replica.asks.is_empty())
    }
}
