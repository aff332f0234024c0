//! The leases that this scheduler holds.

use super::Scheduler;
use super::attempts::Failure;
use super::charges::{Bounds, Charge};
use super::daily_budget::DailyReservation;
use super::messages::{Candidate, Lease, ModelKey, QueuePartition, ReplicaKey, SchedulerCommand};
use super::rate_window::Reservation;
use super::timers::Timer;
use crate::records::FailedAttempt;

/// Where a leased request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits for a free slot.
    Buffered,
    /// It was sent.
    InFlight,
    /// It failed, and whose fault that is will be known shortly. It keeps its slot.
    Doubted,
}

/// A failure whose fault is not known yet.
#[derive(Debug)]
pub(super) struct Doubt {
    pub(super) failure: Failure,
    /// It had the replica to itself.
    pub(super) was_alone: bool,
    /// How many requests the replica had been sent by then.
    pub(super) sent: u64,
    /// When it failed, in milliseconds.
    pub(super) since: i64,
}

/// A leased request.
#[derive(Debug)]
pub(super) struct HeldLease {
    pub(super) lease: Lease,
    pub(super) replica: ReplicaKey,
    pub(super) stage: Stage,
    /// When it was sent, in milliseconds.
    pub(super) sent_at: i64,
    /// Its estimated cost.
    pub(super) cost: i64,
    /// What its account was charged of that.
    pub(super) charged: i64,
    /// Between which a charge for it lies, there where it runs.
    pub(super) bounds: Bounds,
    /// The tokens that it is estimated to take.
    pub(super) tokens: i64,
    /// What it has reserved of its replica's rate limits since it was sent.
    pub(super) reservation: Option<Reservation>,
    /// The same of its replica's daily budget.
    pub(super) budgeted: Option<DailyReservation>,
    /// It was sent, and is sent once more without the output limit that the engine refused.
    pub(super) is_repeated: bool,
    /// When it expires, in milliseconds.
    pub(super) deadline: i64,
    /// Attempts counted before this one.
    pub(super) attempts: u32,
    /// It may break replicas.
    pub(super) suspect: bool,
    /// How it failed, while doubted.
    pub(super) doubt: Option<Doubt>,
}

/// What follows for a request from the end of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// The attempt that counts against it.
    pub(super) attempt: Option<FailedAttempt>,
    /// It may break replicas.
    pub(super) suspect: bool,
}

impl HeldLease {
    /// A lease that was just taken.
    pub(super) fn new(lease: Lease, replica: ReplicaKey, seen: &Candidate, charged: Charge) -> Self {
        Self {
            lease,
            replica,
            stage: Stage::Buffered,
            sent_at: 0,
            cost: seen.cost.max(1),
            charged: charged.of(seen.cost),
            bounds: charged.bounds,
            tokens: charged.part.of(seen.cost),
            reservation: None,
            budgeted: None,
            is_repeated: false,
            deadline: seen.deadline,
            attempts: seen.attempts,
            suspect: seen.suspect,
            doubt: None,
        }
    }

    /// Nothing follows for it: it is what it was before.
    pub(super) const fn unchanged(&self) -> Mark {
        Mark { attempt: None, suspect: self.suspect }
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
            let was_broken = held.doubt.as_ref().is_some_and(|doubt| doubt.failure.may_be_a_death());
            replica.broken -= usize::from(was_broken);
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

    /// An engine had it, or may have, and it was not completed: its account pays all of its estimate, whether the attempt counts or not,
    /// else requests that only fail or are cancelled would win every turn.
    pub(super) fn charge_in_full(&mut self, held: &HeldLease) {
        let QueuePartition { model, account } = held.lease.key.partition;
        self.model(model).settle(account, held.charged.saturating_sub(held.bounds.of(held.cost)).min(0));
    }

    /// Puts a request that was let go back into the queue. Its account is not refunded.
    pub(super) fn release_lease(&mut self, held: HeldLease, retry_at: i64, mark: Mark, now: i64) {
        self.charge_in_full(&held);
        self.put_back(held, retry_at, mark, now);
    }

    fn put_back(&mut self, held: HeldLease, retry_at: i64, mark: Mark, now: i64) {
        let Mark { attempt, suspect } = mark;
        let partition = held.lease.key.partition;
        let wake_at = self.model(partition.model).partition(partition.account, now).delay(retry_at, now);
        self.timers.set(Timer::Partition(partition), Some(wake_at));
        self.out.push(SchedulerCommand::ReleaseLease {
            replica: held.replica,
            lease: held.lease,
            retry_at,
            attempt,
            suspect,
        });
    }

    /// Puts a request back that no engine saw: its account is refunded.
    pub(super) fn release_unseen(&mut self, held: HeldLease, retry_at: i64, now: i64) {
        let partition = held.lease.key.partition;
        self.model(partition.model).settle(partition.account, held.charged);
        let mark = held.unchanged();
        self.put_back(held, retry_at, mark, now);
    }

    /// Releases the leases that wait for a slot of the replica: those of a model, or all of them.
    pub(super) fn release_buffered(&mut self, replica: ReplicaKey, model: Option<ModelKey>, now: i64) {
        let Some(state) = self.replicas.get(&replica) else { return };
        let is_meant = |seq: &i64| {
            let of = self.leases_held.get(seq).map(|held| held.lease.key.partition.model);
            model.is_none() || of == model
        };
        let meant: Vec<_> = state.buffered.iter().copied().filter(is_meant).collect();
        for seq in meant {
            if let Some(held) = self.let_go(seq) {
                self.release_unseen(held, now, now);
            }
        }
    }

    /// Releases the leases of a partition that wait for a slot, on every replica.
    pub(super) fn release_buffered_of(&mut self, partition: QueuePartition, now: i64) {
        let is_meant = |held: &&HeldLease| {
            held.stage == Stage::Buffered && !held.is_repeated && held.lease.key.partition == partition
        };
        let meant: Vec<_> = self.leases_held.values().filter(is_meant).map(HeldLease::seq).collect();
        for seq in meant {
            let is_tried = |held: &HeldLease| {
                self.replicas.get(&held.replica).is_some_and(|replica| replica.trial.contains(&seq))
            };
            if !self.leases_held.get(&seq).is_some_and(is_tried)
                && let Some(held) = self.let_go(seq)
            {
                self.release_unseen(held, now, now);
            }
        }
    }

    /// Releases the leases for which a replica has no use soon, because its limit has fallen: other replicas may have.
    pub(super) fn release_surplus(&mut self, replica: ReplicaKey, now: i64) {
        let Some(state) = self.replicas.get(&replica) else { return };
        let surplus: Vec<_> = state.buffered.iter().skip(state.ahead().max(1)).copied().collect();
        for seq in surplus {
            if let Some(held) = self.let_go(seq) {
                self.release_unseen(held, now, now);
            }
        }
    }

    /// Whether the request must not run amid ordinary work.
    pub(super) fn is_apart(&self, held: &HeldLease, now: i64) -> bool {
        let model = self.models.get(&held.lease.key.partition.model);
        model.is_some_and(|it| it.suspects.is_apart(held.suspect, held.attempts, now))
    }

    pub(super) fn held_at(&self, seq: i64, stage: Stage) -> Option<&HeldLease> {
        self.leases_held.get(&seq).filter(|held| held.stage == stage)
    }
}
