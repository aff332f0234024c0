//! What a tick repairs: lost answers, failed writes, partitions that only seem empty.

use super::Scheduler;
use super::leases_held::Stage;
use super::messages::{Lease, QueuePartition, ReplicaKey, SchedulerCommand};
use super::timers::Timer;

/// Pause after a failed write to the store.
const STORE_AWAY_MS: i64 = 500;
const REPAIR_MS: i64 = 1_000;
/// A lease without an answer is given up after this time; if it committed, its leases are released when the answer arrives.
const LEASE_PATIENCE_MS: i64 = 30_000;
/// A probe without an answer is repeated after this time.
const PROBE_PATIENCE_MS: i64 = 90_000;
/// Wait of a request whose body could not be read.
const UNSENT_MS: i64 = 1_000;
/// The same if all other bodies can be read: that takes longer to pass, and many may wait for it.
pub(super) const UNREAD_MS: i64 = 15_000;

impl Scheduler {
    pub(super) fn repair(&mut self, now: i64) {
        self.touch_all();
        if now >= self.store_away_until {
            self.redo(now);
        }
        // A clock that was set back must not put this off.
        if (self.repair_at - REPAIR_MS..self.repair_at).contains(&now) {
            return;
        }
        self.repair_at = now + REPAIR_MS;
        self.releases.repair(now);
        let mut overdue = Vec::new();
        for (key, replica) in &mut self.replicas {
            let asks = replica.asks.iter().filter(|(_, ask)| now - ask.asked_at >= LEASE_PATIENCE_MS);
            overdue.extend(asks.map(|(partition, _)| (*key, *partition)));
            replica.probe = replica.probe.filter(|probe| now - probe.asked_at < PROBE_PATIENCE_MS);
        }
        for (key, partition) in overdue {
            self.undo_lease(key, partition, now);
        }
        self.repair_colocated(now);
        self.repair_rates(now);
        self.count_uses();
        let mut in_flight = self.in_flight_by_model();
        for (key, model) in &mut self.models {
            model.repair(&in_flight.remove(key).unwrap_or_default(), now);
        }
        self.follow_processes(now);
        self.ask_deadlines(now);
        self.models.retain(|_, model| !model.partitions.is_empty() || !model.suspects.is_empty());
    }

    /// A command could not be performed: the store is briefly unreachable.
    pub(super) fn undo(&mut self, command: SchedulerCommand, now: i64) {
        match command {
            SchedulerCommand::Release { .. } => self.releases.undo(now),
            SchedulerCommand::Scan { partition, scan, .. } => {
                if let Some(state) = self
                    .models
                    .get_mut(&partition.model)
                    .and_then(|it| it.partitions.get_mut(&partition.account))
                {
                    state.lists.of_scan(scan).0.undo(scan);
                }
            }
            SchedulerCommand::CountDeadlines { .. } => self.deadline_counts.undo(),
            SchedulerCommand::Lease { replica, partition, .. } => self.undo_lease(replica, partition, now),
            SchedulerCommand::ReleaseLease { .. }
            | SchedulerCommand::Fail { .. }
            | SchedulerCommand::CountUse(_) => self.undone.push(command),
            SchedulerCommand::Send { lease, .. } => {
                self.put_off(&lease, now + UNSENT_MS, now);
            }
            // Not writes: a probe is repeated when its answer is overdue, the others bring no answer.
            SchedulerCommand::Probe { .. }
            | SchedulerCommand::Start { .. }
            | SchedulerCommand::Stop { .. }
            | SchedulerCommand::Abort { .. }
            | SchedulerCommand::Pause { .. }
            | SchedulerCommand::Resume { .. }
            | SchedulerCommand::WakeAt { .. } => return,
        }
        self.store_away_until = now + STORE_AWAY_MS;
        self.timers.set(Timer::Store, Some(self.store_away_until));
    }

    /// A request was not sent, because its body could not be read.
    pub(super) fn put_off(&mut self, lease: &Lease, retry_at: i64, now: i64) {
        let seq = lease.key.position.seq;
        if self.held_at(seq, Stage::InFlight).is_some_and(|it| it.lease.epoch == lease.epoch)
            && let Some(held) = self.let_go(seq)
        {
            self.cancel_reservations(&held);
            self.release_unseen(held, retry_at, now);
        }
    }

    pub(super) fn redo(&mut self, now: i64) {
        for command in std::mem::take(&mut self.undone) {
            if let SchedulerCommand::ReleaseLease { lease, retry_at, .. } = &command {
                let partition = lease.key.partition;
                let wake_at =
                    self.model(partition.model).partition(partition.account, now).delay(*retry_at, now);
                self.timers.set(Timer::Partition(partition), Some(wake_at));
            }
            self.out.push(command);
        }
    }

    /// A lease took nothing: its requests wait in front of the cursor again.
    fn undo_lease(&mut self, key: ReplicaKey, partition: QueuePartition, now: i64) {
        let ask = self.replicas.get_mut(&key).and_then(|replica| replica.asks.remove(&partition));
        let (Some(ask), Some(replica)) = (ask, self.replicas.get_mut(&key)) else { return };
        let is_trial = ask.run.iter().any(|it| replica.trial.contains(&it.position.seq));
        if is_trial {
            replica.trial.clear();
        }
        let model = self.model(partition.model);
        let charged = ask.run.iter().fold(0_i64, |sum, it| sum.saturating_add(ask.charged.of(it.cost)));
        let count = ask.run.len();
        let state = model.partition(partition.account, now);
        state.held = state.held.saturating_sub(count);
        let left: Vec<_> = ask.run.into_iter().filter(|it| !ask.ended.contains(&it.position.seq)).collect();
        if is_trial {
            model.suspects.put_back(partition.account, left);
        } else {
            state.add(i64::try_from(left.len()).unwrap_or(i64::MAX), now);
            state.lists.put_back(key, left);
        }
        model.settle(partition.account, charged);
        model.enlist(partition.account);
        self.touched.insert(key);
    }
}
