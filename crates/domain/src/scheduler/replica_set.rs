//! The set of replicas.

use std::collections::BTreeMap;

use super::Scheduler;
use super::colocation::Colocation;
use super::messages::{EngineHours, EngineLoad, ModelKey, Replica, ReplicaKey};
use super::process_state::EngineProcess;
use super::rate_limits;
use super::replicas::ReplicaState;

/// Requests that the model's replicas may have in flight together. Those that are paused or closed for it have none. Those outside their
/// hours, which not every account may use, count only if there are no others.
pub(super) fn capacity(replicas: &BTreeMap<ReplicaKey, ReplicaState>, model: ModelKey) -> i64 {
    let slots = |it: &ReplicaState| i64::try_from(it.slots()).unwrap_or(i64::MAX);
    let serving = || replicas.values().filter(|it| !it.retiring && it.serves(model));
    let in_hours = serving().filter(|it| it.is_in_hours).map(slots).fold(0, i64::saturating_add);
    if in_hours > 0 { in_hours } else { serving().map(slots).fold(0, i64::saturating_add) }
}

impl Scheduler {
    /// A replica is used for the model again, or no longer.
    pub(super) fn recount_capacity(&mut self, model: ModelKey) {
        if let Some(state) = self.models.get_mut(&model) {
            state.capacity = capacity(&self.replicas, model);
            state.per_minute = rate_limits::together(&self.replicas, model);
        }
    }

    pub(super) fn note_load(&mut self, key: ReplicaKey, load: EngineLoad, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let before = replica.slots();
        replica.limit.note_load(load, replica.in_flight.len(), now);
        if let Some(colocation) = &mut replica.colocation {
            colocation.note_load(load, replica.in_flight.len(), now);
        }
        if replica.slots() == before {
            return;
        }
        let is_lower = replica.slots() < before;
        let models = replica.config.models.clone();
        for model in &models {
            self.recount_capacity(*model);
        }
        if is_lower && models.iter().any(|model| self.is_another_idle(key, *model, now)) {
            self.release_surplus(key, now);
        }
        self.touched.insert(key);
    }

    /// New replicas start, known ones take their new configuration, and those that left run out.
    pub(super) fn replace_replicas(&mut self, list: Vec<Replica>, now: i64) {
        let left: Vec<_> =
            self.replicas.keys().filter(|key| list.iter().all(|it| it.key != **key)).copied().collect();
        for key in left {
            if let Some(replica) = self.replicas.get_mut(&key) {
                replica.retiring = true;
            }
            self.release_buffered(key, None, now);
        }
        for config in list {
            match self.replicas.get_mut(&config.key) {
                Some(replica) => {
                    replica.limit.set_most(config.max_concurrency);
                    if replica.config.colocated_percent != config.colocated_percent {
                        replica.colocation = Colocation::new(&config);
                    }
                    replica.rate.limits = config.rate_limits;
                    replica.budget.set_limits(config.daily_limits);
                    if replica.retiring {
                        replica.budget.forget_stored();
                    }
                    replica.process = match (&config.process, replica.process.take()) {
                        (Some(_), Some(process)) => Some(process),
                        (rules, _) => rules.as_ref().map(|_| EngineProcess::new()),
                    };
                    replica.config = config;
                    replica.retiring = false;
                }
                None => {
                    let hours = self.hours.get(&config.key).copied().unwrap_or(EngineHours::ALWAYS);
                    self.replicas.insert(config.key, ReplicaState::new(config, hours));
                }
            }
        }
        let models: Vec<_> = self.models.keys().copied().collect();
        models.into_iter().for_each(|model| self.recount_capacity(model));
        self.touch_all();
    }
}
