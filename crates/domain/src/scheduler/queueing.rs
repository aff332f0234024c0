//! News of the queue: counts, results of scans, results of leases.

use std::collections::{BTreeMap, BTreeSet};

use super::Scheduler;
use super::due_first::Seen;
use super::leases_held::{HeldLease, Stage};
use super::messages::{Backlog, Candidate, Lease, QueuePartition, ReplicaKey, ScanKey, SchedulerCommand};
use super::replicas::Ask;
use super::timers::Timer;

impl Scheduler {
    pub(super) fn recount(&mut self, backlogs: &[Backlog], now: i64) {
        for model in self.models.values_mut() {
            model.suspects.forget_seen();
            for partition in model.partitions.values_mut() {
                partition.recount(now);
            }
        }
        self.enqueue(backlogs, now);
    }

    pub(super) fn enqueue(&mut self, added: &[Backlog], now: i64) {
        for backlog in added {
            let QueuePartition { model, account } = backlog.partition;
            let state = self.model(model);
            state.partition(account, now).add(backlog.count, now);
            state.enlist(account);
            self.touch_model(model);
        }
    }

    /// Requests of these partitions wait for a retry, until the given times at the latest.
    pub(super) fn note_delayed(&mut self, delayed: &[(QueuePartition, i64)], now: i64) {
        for (partition, until) in delayed {
            self.model(partition.model).partition(partition.account, now).watch_until(*until);
        }
    }

    /// A poll of the store saw that these partitions have waiting requests, whichever node added them.
    pub(super) fn note_waiting(&mut self, partitions: &[QueuePartition], now: i64) {
        if !partitions.is_empty() && !self.has_work() {
            self.releases.hear(now);
            self.timers.set(Timer::Burst, self.releases.burst_ends_at(now));
        }
        for partition in partitions {
            let state = self.model(partition.model);
            state.partition(partition.account, now).hear(now);
            state.enlist(partition.account);
            self.touch_model(partition.model);
        }
    }

    /// The retry time of some requests of the partition is reached.
    pub(super) fn mature(&mut self, partition: QueuePartition, now: i64) {
        let Some(model) = self.models.get_mut(&partition.model) else { return };
        let next_at = model.partitions.get_mut(&partition.account).and_then(|state| state.mature(now));
        model.enlist(partition.account);
        self.timers.set(Timer::Partition(partition), next_at);
        self.touch_model(partition.model);
    }

    /// A scan was answered. Leaves out requests that are held already or past their deadline, and sets aside suspects that must not run
    /// amid others.
    pub(super) fn see(
        &mut self,
        partition: QueuePartition,
        scan: ScanKey,
        candidates: Vec<Candidate>,
        reached_end: bool,
        now: i64,
    ) {
        let claimed = self.claimed(partition);
        let Some(model) = self.models.get_mut(&partition.model) else { return };
        let Some(state) = model.partitions.get_mut(&partition.account) else { return };
        let last = candidates.last().map(|it| it.position.clone());
        let count = i64::try_from(candidates.len()).unwrap_or(i64::MAX);
        let is_free = |it: &Candidate| {
            let seq = it.position.seq;
            it.deadline > now && !claimed.contains(&seq) && !self.leases_held.contains_key(&seq)
        };
        let (suspects, mut fresh): (Vec<_>, Vec<_>) = candidates
            .into_iter()
            .filter(is_free)
            .partition(|it| model.suspects.is_apart(it.suspect, it.attempts, now));
        let (list, due_by) = state.lists.of_scan(scan);
        let seen = Seen { count, last, reached_end };
        fresh.retain(|it| it.deadline <= due_by);
        if list.is_survey(scan) {
            list.split(&fresh, reached_end);
            return self.touch_model(partition.model);
        }
        let Some(sweep) = list.sweep_of(scan) else { return };
        let mut found = 0;
        let kept: BTreeSet<i64> = sweep.window_seqs().collect();
        fresh.retain(|it| !kept.contains(&it.position.seq));
        for candidate in suspects {
            if model.suspects.set_aside(partition.account, candidate) {
                sweep.find();
                found += 1;
            }
        }
        if found > 0 {
            state.remove(found, now);
        }
        state.absorb(scan, fresh, &seen, now);
        model.enlist(partition.account);
        self.touch_model(partition.model);
    }

    /// Requests of the partition that are being leased or were set aside.
    fn claimed(&self, partition: QueuePartition) -> BTreeSet<i64> {
        let asks = self.replicas.values().filter_map(|replica| replica.asks.get(&partition));
        let asked = asks.flat_map(|ask| &ask.run).map(|it| it.position.seq);
        let model = self.models.get(&partition.model);
        let aside = model.into_iter().flat_map(|it| it.suspects.seqs());
        asked.chain(aside).collect()
    }

    /// A lease was answered: the taken requests wait for a slot; the others had gone.
    pub(super) fn hold(&mut self, key: ReplicaKey, partition: QueuePartition, leases: Vec<Lease>, now: i64) {
        self.touched.insert(key);
        let Some(ask) = self.replicas.get_mut(&key).and_then(|replica| replica.asks.remove(&partition))
        else {
            return leases.into_iter().for_each(|lease| self.return_unknown(key, lease, now));
        };
        let Ask { run, charged, ended, .. } = ask;
        let mut run: BTreeMap<_, _> = run.into_iter().map(|it| (it.position.seq, it)).collect();
        for lease in leases {
            let seq = lease.key.position.seq;
            if ended.contains(&seq) {
                continue;
            }
            match run.remove(&seq) {
                Some(seen) => self.buffer(HeldLease::new(lease, key, &seen, charged), now),
                None => self.return_unknown(key, lease, now),
            }
        }
        self.unhold(partition, run.len());
        let refund = run.values().fold(0_i64, |sum, it| sum.saturating_add(charged.of(it.cost)));
        self.model(partition.model).settle(partition.account, refund);
        if let Some(replica) = self.replicas.get_mut(&key) {
            replica.trial.retain(|seq| !run.contains_key(seq));
        }
    }

    fn buffer(&mut self, held: HeldLease, now: i64) {
        let seq = held.seq();
        let is_apart = self.is_apart(&held, now);
        if let Some(before) = self.leases_held.get(&seq) {
            if before.lease.epoch >= held.lease.epoch {
                self.unhold(held.lease.key.partition, 1);
                return;
            }
            self.drop_held(seq, now);
        }
        let taker = self.replicas.get_mut(&held.replica).filter(|replica| {
            !self.is_draining
                && !replica.retiring
                && !replica.is_out_for(held.lease.key.partition.model)
                && if replica.is_trying() { replica.trial.contains(&seq) } else { !is_apart }
        });
        if let Some(replica) = taker {
            replica.buffered.push_back(seq);
            self.leases_held.insert(seq, held);
            return;
        }
        if let Some(replica) = self.replicas.get_mut(&held.replica) {
            replica.forget(seq);
        }
        self.unhold(held.lease.key.partition, 1);
        self.release_unseen(held, now, now);
    }

    /// A lease arrived after its answer had been given up.
    fn return_unknown(&mut self, replica: ReplicaKey, lease: Lease, now: i64) {
        let partition = lease.key.partition;
        let is_held =
            self.leases_held.get(&lease.key.position.seq).is_some_and(|it| it.lease.epoch >= lease.epoch);
        if !is_held {
            let wake_at = self.model(partition.model).partition(partition.account, now).delay(now, now);
            self.timers.set(Timer::Partition(partition), Some(wake_at));
            self.out.push(SchedulerCommand::ReleaseLease {
                replica,
                lease,
                retry_at: now,
                attempt: None,
                suspect: false,
            });
        }
    }

    /// Requests were ended by somebody else: stops what is under way for them.
    pub(super) fn end(&mut self, seqs: &BTreeSet<i64>, now: i64) {
        for replica in self.replicas.values_mut() {
            for ask in replica.asks.values_mut() {
                let hit = ask.run.iter().map(|it| it.position.seq).filter(|seq| seqs.contains(seq));
                ask.ended.extend(hit);
            }
        }
        for model in self.models.values_mut() {
            model.suspects.end(seqs);
        }
        self.undone.retain(|command| match command {
            SchedulerCommand::ReleaseLease { lease, .. } | SchedulerCommand::Fail { lease, .. } => {
                !seqs.contains(&lease.key.position.seq)
            }
            _ => true,
        });
        for seq in seqs {
            self.histories.forget(*seq);
            self.drop_held(*seq, now);
        }
    }

    /// Leases are no longer held: stops what is under way for them.
    pub(super) fn lose(&mut self, leases: &[Lease], now: i64) {
        for lease in leases {
            let seq = lease.key.position.seq;
            if self.leases_held.get(&seq).is_some_and(|held| held.lease.epoch <= lease.epoch) {
                self.drop_held(seq, now);
            }
        }
    }

    /// Forgets a lease that is no longer this scheduler's, and stops its attempt.
    fn drop_held(&mut self, seq: i64, now: i64) {
        let Some(held) = self.let_go(seq) else { return };
        match held.stage {
            Stage::Buffered if held.is_repeated => self.charge_in_full(&held),
            Stage::Buffered => {
                let QueuePartition { model, account } = held.lease.key.partition;
                self.model(model).settle(account, held.charged);
            }
            Stage::InFlight => {
                self.charge_dropped(&held, now);
                self.charge_in_full(&held);
                self.out.push(SchedulerCommand::Abort { seq });
            }
            Stage::Doubted => self.charge_in_full(&held),
        }
    }
}
