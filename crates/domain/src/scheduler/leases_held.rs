//! The leases that this scheduler holds.

use super::Scheduler;
use super::messages::{Candidate, Lease, QueuePartition, ReplicaKey, SchedulerCommand};
use super::timers::Timer;

/// Where a leased request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits for a free slot.
    Buffered,
    /// It was sent.
    InFlight,
    /// Its connection broke amid others: shortly, it is known whether the replica died.
    Broken,
    /// The engine refused it, and the replica's own probe is to say whose fault that is. It keeps its slot.
    Doubted,
}

/// A leased request.
#[derive(Debug)]
pub(super) struct HeldLease {
    pub(super) lease: Lease,
    pub(super) replica: ReplicaKey,
    pub(super) stage: Stage,
    /// What its account was charged.
    pub(super) cost: i64,
    /// Attempts counted before this one.
    pub(super) attempts: u32,
    /// It must run alone.
    pub(super) suspect: bool,
    /// What the engine answered, while doubted: the status and its words.
    pub(super) refusal: Option<(u16, String)>,
}

/// What follows for a request from the end of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// The attempt counts against it.
    pub(super) counted: bool,
    /// It must run alone.
    pub(super) suspect: bool,
}

impl HeldLease {
    /// A lease that was just taken.
    pub(super) fn new(lease: Lease, replica: ReplicaKey, seen: &Candidate) -> Self {
        Self {
            lease,
            replica,
            stage: Stage::Buffered,
            cost: seen.cost.max(1),
            attempts: seen.attempts,
            suspect: seen.suspect,
            refusal: None,
        }
    }

    /// Nothing follows for it: it is what it was before.
    pub(super) const fn unchanged(&self) -> Mark {
        Mark { counted: false, suspect: self.suspect }
    }

    pub(super) const fn seq(&self) -> i64 {
        self.lease.key.position.seq
    }
}

impl Scheduler {
    /// Takes a request out of the leases that are held, wherever it was.
    pub(super) fn let_go(&mut self, seq: i64) -> Option<HeldLease> {
        let held = self.leases_held.remove(&seq)?;
        if let Some(replica) = self.replicas.get_mut(&held.replica) {
            replica.forget(seq);
        }
        self.touched.insert(held.replica);
        self.unhold(held.lease.key.partition, 1);
        Some(held)
    }

    pub(super) fn unhold(&mut self, partition: QueuePartition, count: usize) {
        if let Some(state) =
            self.models.get_mut(&partition.model).and_then(|it| it.partitions.get_mut(&partition.account))
        {
            state.held = state.held.saturating_sub(count);
        }
    }

    /// Puts a request that was let go back into the queue.
    pub(super) fn release_lease(&mut self, held: HeldLease, retry_at: i64, mark: Mark, now: i64) {
        let Mark { counted, suspect } = mark;
        let partition = held.lease.key.partition;
        let model = self.model(partition.model);
        let wake_at = model.partition(partition.account, now).delay(retry_at, now);
        if !counted {
            model.settle(partition.account, held.cost);
        }
        self.timers.set(Timer::Partition(partition), Some(wake_at));
        self.out.push(SchedulerCommand::ReleaseLease { lease: held.lease, retry_at, counted, suspect });
    }

    /// Releases the leases that wait for a slot of the replica.
    pub(super) fn release_buffered(&mut self, replica: ReplicaKey, now: i64) {
        let Some(state) = self.replicas.get_mut(&replica) else { return };
        for seq in std::mem::take(&mut state.buffered) {
            if let Some(held) = self.let_go(seq) {
                let mark = held.unchanged();
                self.release_lease(held, now, mark, now);
            }
        }
    }

    pub(super) fn held_at(&self, seq: i64, stage: Stage) -> Option<&HeldLease> {
        self.leases_held.get(&seq).filter(|held| held.stage == stage)
    }
}
