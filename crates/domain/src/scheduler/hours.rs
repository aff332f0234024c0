//! Engine hours: outside them, no new requests are leased for a replica or sent to it. Its requests in flight finish, its buffered leases
//! are released, and other replicas take its part of the order.

use std::collections::{BTreeMap, BTreeSet};

use super::Scheduler;
use super::fairness::Model;
use super::messages::{EngineHours, ModelKey, ReplicaKey};
use super::replicas::ReplicaState;

impl EngineHours {
    /// Of a replica that is always open.
    pub const ALWAYS: Self = Self { is_open: true, until: None, is_open_for_deadlines: true };

    /// Whether it is open at `now`, in milliseconds.
    pub fn is_open_at(&self, now: i64) -> bool {
        self.is_open != self.until.is_some_and(|until| until <= now)
    }
}

impl ReplicaState {
    /// Whether the replica's hours allow requests of the model. Deadlines in danger overrule them.
    pub(super) fn is_open_for(&self, model: ModelKey, models: &BTreeMap<ModelKey, Model>, now: i64) -> bool {
        let is_endangered = || models.get(&model).is_some_and(Model::is_endangered);
        self.hours.is_open_at(now) || self.hours.is_open_for_deadlines && is_endangered()
    }
}

impl Scheduler {
    /// The shell computed a replica's hours, whether or not the replica is used yet.
    pub(super) fn note_hours(&mut self, key: ReplicaKey, hours: EngineHours) {
        self.hours.insert(key, hours);
        if let Some(replica) = self.replicas.get_mut(&key) {
            replica.hours = hours;
            self.touched.insert(key);
        }
    }

    /// Opens or closes a replica for its models, according to its hours and their deadlines at `now`.
    pub(super) fn follow_hours(&mut self, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let is_in_hours = replica.hours.is_open_at(now);
        let is_closed = |model: &&ModelKey| !replica.is_open_for(**model, &self.models, now);
        let closed: BTreeSet<_> = replica.config.models.iter().filter(is_closed).copied().collect();
        if closed == replica.closed_for && is_in_hours == replica.is_in_hours {
            return;
        }
        let has_closed = std::mem::replace(&mut replica.is_in_hours, is_in_hours) && !is_in_hours;
        replica.closed_for = closed;
        let models = replica.config.models.clone();
        if has_closed || !replica.closed_for.is_empty() {
            // What goes first is leased for it again.
            self.release_buffered(key, None, now);
        }
        for model in models {
            self.recount_capacity(model);
            self.touch_model(model);
        }
    }
}
