//! Whether to start another engine of a model in addition to those that are started or run.

use super::Scheduler;
use super::messages::{ModelKey, ProcessStatus, ReplicaKey};
use super::partitions::PartitionState;
use super::replicas::ReplicaState;

impl ReplicaState {
    /// Whether it is being started and will be ready: its last start did not fail, and this one takes at most half as long again as
    /// expected.
    fn is_about_to_run(&self, now: i64) -> bool {
        let longest_ms = self.expected_start_ms().saturating_mul(3) / 2;
        self.process.as_ref().is_some_and(|it| {
            it.status == ProcessStatus::Starting && it.failures == 0 && now - it.since < longest_ms
        })
    }
}

impl Scheduler {
    /// Waiting requests of a model that need no start of this replica: engines that are being started have slots for them, or those that
    /// run will have worked them off before it would be ready. The latter counts only while no deadline is in danger.
    pub(super) fn cared_for(&self, key: ReplicaKey, model: ModelKey, now: i64) -> usize {
        let others = || {
            let it = self.replicas.iter().filter(|(other, it)| **other != key && !it.retiring);
            it.filter(|(_, it)| it.config.models.contains(&model))
        };
        let starting = others().filter(|(other, it)| it.is_about_to_run(now) || self.is_next(**other));
        let open = starting.filter(|(_, it)| it.is_open_for(model, &self.models, now));
        let slots: usize = open.map(|(_, it)| it.slots()).sum();
        let Some(state) = self.models.get(&model).filter(|it| !it.is_endangered()) else { return slots };
        if !others().any(|(_, it)| it.serves(model) && it.is_usable(now)) {
            return slots;
        }
        let start_ms = self.replicas.get(&key).map_or(0, ReplicaState::expected_start_ms);
        let worked_off = |it: &PartitionState| {
            let count = it.throughput.completions_in(start_ms).unwrap_or(0);
            it.known().min(usize::try_from(count).unwrap_or(0))
        };
        slots + state.partitions.values().map(worked_off).sum::<usize>()
    }
}
