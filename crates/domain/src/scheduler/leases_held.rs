//! The leases that this scheduler holds.

use super::Scheduler;
use super::attempts::Failure;
use super::charges::{Bounds, Charge};
use super::daily_budget::DailyReservation;
use super::messages::{Candidate, Lease, ModelKey, QueuePartition, ReplicaKey, SchedulerCommand};
use super::rate_window::Reservation;
use super::timers::Timer;
use crate::records::FailedAttempt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Buffered,
    InFlight,
    /// It failed, and whose fault that is will be known shortly. It keeps its slot.
    Doubted,
}

#[derive(Debug)]
pub(super) struct Doubt {
    pub(super) failure: Failure,
    /// It had the replica to itself.
    pub(super) was_alone: bool,
    /// Requests that the replica had been sent by then.
    pub(super) sent: u64,
    pub(super) since: i64,
}

#[derive(Debug)]
pub(super) struct HeldLease {
    pub(super) lease: Lease,
    pub(super) replica: ReplicaKey,
    pub(super) stage: Stage,
    pub(super) sent_at: i64,
    pub(super) cost: i64,
    pub(super) charged: i64,
    /// Of a charge for it, on its replica.
    pub(super) bounds: Bounds,
    pub(super) tokens: i64,
    /// Of its replica's rate limits, once it was sent.
    pub(super) reservation: Option<Reservation>,
    /// Of its replica's daily budget.
    pub(super) budgeted: Option<DailyReservation>,
    /// It is sent once more, without the output limit that the engine refused.
    pub(super) is_repeated: bool,
    pub(super) deadline: i64,
    /// Counted before this one.
    pub(super) attempts: u32,
    /// It may break replicas.
    pub(super) suspect: bool,
    pub(super) doubt: Option<Doubt>,
}

/// What follows for a request from the end of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) attempt: Option<FailedAttempt>,
    pub(super) suspect: bool,
}

impl HeldLease {
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

    pub(super) const fn unchanged(&self) -> Mark {
        Mark { attempt: None, suspect: self.suspect }
    }

    pub(super) const fn seq(&self) -> i64 {
        self.lease.key.position.seq
    }
}

impl Scheduler {
    /// Removes a request from the held leases, wherever it was.
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

    /// An engine had it, or may have, and it was not completed. Its account pays all of its estimate, whether or not the attempt counts.
    /// Otherwise requests that only fail or are cancelled would win every turn.
    pub(super) fn charge_in_full(&mut self, held: &HeldLease) {
        let QueuePartition { model, account } = held.lease.key.partition;
        self.model(model).settle(account, held.charged.saturating_sub(held.bounds.of(held.cost)).min(0));
    }

    /// Puts a request back into the queue. Its account is not refunded.
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

    /// Puts a request back that no engine saw, and refunds its account.
    pub(super) fn release_unseen(&mut self, held: HeldLease, retry_at: i64, now: i64) {
        let partition = held.lease.key.partition;
        self.model(partition.model).settle(partition.account, held.charged);
        let mark = held.unchanged();
        self.put_back(held, retry_at, mark, now);
    }

    /// Releases the buffered leases of the replica: those of a model, or all of them.
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

    /// On every replica.
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

    /// Releases the buffered leases that a replica cannot use soon because its limit fell: other replicas may.
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
