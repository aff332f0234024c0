//! Engines that also serve online traffic. The number of our requests in flight is halved each time the engine reports waiting requests,
//! down to none, and grows by a fixed step while none wait (additive increase, multiplicative decrease as in `concurrency`, but quicker to
//! fall and without the others' part).

use super::Scheduler;
use super::messages::{EngineLoad, Replica, ReplicaKey};

/// Loads, about one a second, from no requests to the full share.
const STEPS: usize = 16;
/// A replica whose last load is older is sent no requests, because others may be waiting.
const LOAD_VALID_MS: i64 = 5_000;

/// Limit of our requests in flight on a co-located engine.
#[derive(Debug)]
pub(super) struct Colocation {
    /// Requests that the engine runs concurrently, whoever sent them.
    room: usize,
    most: usize,
    current: usize,
    told_at: Option<i64>,
}

impl Colocation {
    /// `None` for an engine that serves only us. No request is sent before the engine's first load.
    pub(super) fn new(config: &Replica) -> Option<Self> {
        let percent = usize::from(config.colocated_percent?);
        let room = usize::try_from(config.max_concurrency).unwrap_or(usize::MAX);
        let most = (room.saturating_mul(percent) / 100).max(1);
        Some(Self { room, most, current: 0, told_at: None })
    }

    pub(super) const fn current(&self) -> usize {
        self.current
    }

    /// `in_flight` counts our requests.
    pub(super) fn note_load(&mut self, load: EngineLoad, in_flight: usize, now: i64) {
        let of_all = usize::try_from(load.running.saturating_add(load.waiting)).unwrap_or(0);
        let of_others = of_all.saturating_sub(in_flight);
        if load.waiting > 0 && of_others > 0 {
            self.current = self.current.min(in_flight) / 2;
        } else if load.waiting == 0 {
            self.current = (self.current + (self.most / STEPS).max(1)).min(self.most);
        }
        self.current = self.current.min(self.room.saturating_sub(of_others));
        self.told_at = Some(now);
    }

    /// Drops a load that is too old. Returns whether fewer requests may be in flight than before.
    fn age(&mut self, now: i64) -> bool {
        // The clock may have been set back.
        let is_valid = self.told_at.is_some_and(|at| (0..LOAD_VALID_MS).contains(&(now - at)));
        !is_valid && std::mem::take(&mut self.current) > 0
    }
}

impl Scheduler {
    /// Once a second: sends no more to co-located replicas that report no load, and releases what waits for their slots.
    pub(super) fn repair_colocated(&mut self, now: i64) {
        let mut without: Vec<ReplicaKey> = Vec::new();
        let mut silent = Vec::new();
        for (key, replica) in &mut self.replicas {
            let Some(colocation) = &mut replica.colocation else { continue };
            if colocation.age(now) {
                silent.extend(replica.config.models.iter().copied());
            }
            if replica.slots() == 0 {
                without.push(*key);
            }
        }
        silent.into_iter().for_each(|model| self.recount_capacity(model));
        without.into_iter().for_each(|key| self.release_buffered(key, None, now));
    }
}
