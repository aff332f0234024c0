//! Read-only queries for metrics and the shell.

use std::collections::BTreeMap;

use super::Scheduler;
use super::breaker::Breaker;
use super::fairness::Model;
use super::leases_held::Stage;
use super::messages::{AccountKey, Lease, ModelKey, Position, ProcessStatus, QueuePartition, ReplicaKey};
use super::partitions::PartitionState;
use super::portions::SURVEY_MAX;
use super::replicas::ReplicaState;
use super::throughput::Pace;

/// A segment of a partition, and how far its sweep is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweptSegment {
    /// It begins behind this place; at the start of the order if `None`.
    pub from: Option<Position>,
    /// The last request that its sweep passed; `None` if it is at the beginning.
    pub cursor: Option<Position>,
}

impl Scheduler {
    /// Requests sent to the replica and not answered.
    pub fn in_flight(&self, replica: ReplicaKey) -> usize {
        self.replicas.get(&replica).map_or(0, |it| it.in_flight.len())
    }

    /// Requests that the replica may have in flight now; `None` if it is not used.
    pub fn concurrency_limit(&self, replica: ReplicaKey) -> Option<u32> {
        self.replicas.get(&replica).map(|it| u32::try_from(it.slots()).unwrap_or(u32::MAX))
    }

    /// Whether anything is leased, or being leased, for a replica that is or was used.
    pub fn is_driven(&self, replica: ReplicaKey) -> bool {
        self.replicas.get(&replica).is_some_and(|it| it.claimed() > 0)
    }

    /// The leases that are held.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.leases_held.values().map(|held| &held.lease)
    }

    /// Whether the replica is paused for any of its models. A replica that does not run is not paused.
    pub fn is_paused(&self, replica: ReplicaKey) -> bool {
        self.replicas.get(&replica).is_some_and(|it| it.is_running() && it.paused().next().is_some())
    }

    /// Until when the replica is outside its hours, in milliseconds, if no deadline overrules them for any of its models; `i64::MAX` if it
    /// never opens.
    pub fn closed_until(&self, replica: ReplicaKey) -> Option<i64> {
        let closed = self.replicas.get(&replica).filter(|it| it.is_closed());
        closed.map(|it| self.time.shown(it.hours.until.unwrap_or(i64::MAX)))
    }

    /// Why the replica was paused last, if it is paused for all its models. A replica that does not run is not paused.
    pub fn pause_reason(&self, replica: ReplicaKey) -> Option<&str> {
        self.whole_pause(replica).map(Breaker::reason)
    }

    /// Until when the replica is paused for all its models, in milliseconds.
    pub fn paused_until(&self, replica: ReplicaKey) -> Option<i64> {
        self.whole_pause(replica)?.probe_at().map(|at| self.time.shown(at))
    }

    /// If the engine had no room for requests of a model and completed none since: until when the replica rests or their accounts are held
    /// back, in milliseconds, and the engine's message.
    pub fn busy(&self, replica: ReplicaKey, model: ModelKey, now: i64) -> Option<(i64, &str)> {
        let (replica, now) = (self.replicas.get(&replica)?, self.time.own(now));
        let partitions = self.models.get(&model).into_iter().flat_map(|it| &it.partitions);
        let mut refused = partitions.filter(|(account, _)| replica.refused.has(**account)).peekable();
        refused.peek()?;
        let rests = (replica.busy_until > now).then_some(replica.busy_until);
        let until = refused.filter_map(|(_, it)| it.refusals.until(now)).chain(rests).max()?;
        Some((self.time.shown(until), replica.refused.message()))
    }

    /// Models that the replica is out for: until when, in milliseconds, and why it is paused; `None` outside its hours.
    pub fn models_out(&self, replica: ReplicaKey) -> Vec<(ModelKey, Option<i64>, Option<&str>)> {
        let Some(replica) = self.replicas.get(&replica).filter(|it| it.is_running()) else {
            return Vec::new();
        };
        let opens_at = Some(replica.hours.until.unwrap_or(i64::MAX));
        let closed = replica.closed_for.iter().map(|model| (*model, opens_at, None));
        let paused = replica.paused().filter(|(model, _)| !replica.closed_for.contains(model));
        let paused = paused.map(|(model, breaker)| (model, breaker.probe_at(), Some(breaker.reason())));
        let shown = |at: Option<i64>| at.map(|at| self.time.shown(at));
        closed.chain(paused).map(|(model, until, why)| (model, shown(until), why)).collect()
    }

    /// The state of a replica's process, and since when, in milliseconds; `None` if the scheduler does not start it.
    pub fn process_status(&self, replica: ReplicaKey) -> Option<(ProcessStatus, i64)> {
        self.replicas.get(&replica)?.process.as_ref().map(|it| (it.status, self.time.shown(it.since)))
    }

    /// Whether a replica's engine runs, as far as the scheduler starts and stops it.
    pub fn is_running(&self, replica: ReplicaKey) -> bool {
        self.replicas.get(&replica).is_none_or(ReplicaState::is_running)
    }

    /// Why a replica's process does not run although no order ended it, and its earliest next start, in milliseconds. `None` once that is
    /// reached.
    pub fn process_error(&self, replica: ReplicaKey) -> Option<(&str, i64)> {
        let process = self.replicas.get(&replica)?.process.as_ref()?;
        let has_ended = process.status == ProcessStatus::Stopped;
        Some((process.error.as_deref().filter(|_| has_ended)?, self.time.shown(process.not_before)))
    }

    /// When a process that is being started will be ready, in milliseconds, if that takes as long as its last start; `None` if unknown.
    pub fn ready_at(&self, replica: ReplicaKey) -> Option<i64> {
        let process = self.replicas.get(&replica)?.process.as_ref()?;
        let is_starting = process.status == ProcessStatus::Starting;
        process.start_ms.filter(|_| is_starting).map(|ms| self.time.shown(process.since.saturating_add(ms)))
    }

    /// The breaker whose probe is due first, if no model of the replica is in use.
    fn whole_pause(&self, replica: ReplicaKey) -> Option<&Breaker> {
        let replica = self.replicas.get(&replica).filter(|it| it.is_running())?;
        let is_whole = replica.config.models.iter().all(|model| replica.is_paused_for(*model));
        replica.paused().map(|(_, breaker)| breaker).min_by_key(|it| it.probe_at()).filter(|_| is_whole)
    }

    /// Requests of the model that wait in the queue, as far as known.
    pub fn waiting(&self, model: ModelKey) -> i64 {
        let Some(model) = self.models.get(&model) else { return 0 };
        let aside = i64::try_from(model.suspects.len()).unwrap_or(i64::MAX);
        model.partitions.values().fold(aside, |sum, partition| sum.saturating_add(partition.waiting()))
    }

    /// Requests of the model that go first because their deadlines are in danger, as of the last count.
    pub fn due_first(&self, model: ModelKey) -> i64 {
        let Some(model) = self.models.get(&model) else { return 0 };
        model
            .partitions
            .values()
            .fold(0, |sum, partition| sum.saturating_add(partition.lists.due_first().unwrap_or(0)))
    }

    /// What the requests of a model take, by account, as far as known.
    pub fn paces(&self, model: ModelKey) -> impl Iterator<Item = (AccountKey, Pace)> {
        let partitions = self.models.get(&model).into_iter().flat_map(|state| &state.partitions);
        partitions.filter_map(|(account, it)| Some((*account, it.throughput.pace()?)))
    }

    /// The least slot time per unit of used cost of a model while all slots are taken, in milliseconds, as seen lately; `None` if not known
    /// yet.
    pub fn least_slot_ms(&self, model: ModelKey) -> Option<f64> {
        self.models.get(&model)?.peak.least_slot_ms()
    }

    pub(super) fn in_flight_by_model(&self) -> BTreeMap<ModelKey, BTreeMap<AccountKey, usize>> {
        let mut counts: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for held in self.leases_held.values().filter(|held| held.stage != Stage::Buffered) {
            let QueuePartition { model, account } = held.lease.key.partition;
            *counts.entry(model).or_default().entry(account).or_insert(0) += 1;
        }
        counts
    }

    /// The segments of a partition's sweep, in order; if nodes share the queue, the store knows them.
    pub fn swept_segments(&self, partition: QueuePartition) -> Vec<SweptSegment> {
        let model = self.models.get(&partition.model);
        let state = model.and_then(|it| it.partitions.get(&partition.account));
        let places =
            state.into_iter().filter(|it| !it.lists.all.is_shared()).flat_map(|it| it.lists.all.places());
        places.map(|(from, cursor)| SweptSegment { from: from.cloned(), cursor: cursor.cloned() }).collect()
    }

    /// Requests that a replica keeps of a long rest of a partition when another takes the others.
    pub fn portion(&self, partition: QueuePartition) -> u32 {
        let model = self.models.get(&partition.model);
        let state = model.and_then(|it| it.partitions.get(&partition.account));
        state.filter(|it| !it.lists.all.is_shared()).map_or(SURVEY_MAX, |it| it.lists.all.portion.requests())
    }

    pub(super) fn has_work(&self) -> bool {
        let waits = |model: &Model| model.partitions.values().any(PartitionState::is_visible);
        !self.is_idle() || self.models.values().any(waits)
    }

    /// Whether no request is leased or being leased: a shutdown waits for this.
    pub fn is_idle(&self) -> bool {
        self.leases_held.is_empty() && self.replicas.values().all(|replica| replica.asks.is_empty())
    }
}
