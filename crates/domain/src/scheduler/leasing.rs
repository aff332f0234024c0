//! Keeps the replicas busy: sends what is buffered, leases the next run, and gives suspects a replica to themselves.
//!
//! Each model has one host for the suspects that were set aside (`suspects`): the first of its replicas that may be used. It drains, runs a
//! group of them, and then takes ordinary work for four times as long as that took, while the other replicas continue. Without ordinary
//! work, one group follows another.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::Scheduler;
use super::leases_held::Stage;
use super::messages::{AccountKey, Candidate, ModelKey, QueuePartition, ReplicaKey, SchedulerCommand};
use super::replicas::{Ask, Filling, ReplicaState};
use super::segments::{Range, Taker};
use super::spreading::Spread;
use super::timers::Timer;

const LOOK_MIN: usize = 32;
/// Minimum if nodes share the queue: each scan is a transaction, but what it brings waits for this replica only.
const SHARED_LOOK_MIN: usize = 64;
/// Serving one replica may touch another; after this many rounds the rest waits for the next input.
const ROUNDS_MAX: usize = 4;

enum Taken {
    /// A run of an account.
    Run(AccountKey, Vec<Candidate>),
    /// No request waits, or a scan must answer first.
    Nothing,
    /// The next request takes about `tokens`, and may not be sent yet.
    HeldBack { tokens: i64 },
    /// All next requests take more than is left of the replica's budget.
    OverBudget,
}

impl Scheduler {
    /// Serves every replica whose state changed, the idlest first.
    pub(super) fn serve_touched(&mut self, now: i64) {
        for _ in 0..ROUNDS_MAX {
            let touched = std::mem::take(&mut self.touched);
            let mut keys: Vec<_> =
                touched.into_iter().filter(|key| self.replicas.contains_key(key)).collect();
            if keys.is_empty() {
                return;
            }
            for key in &keys {
                self.follow_hours(*key, now);
                self.follow_budget(*key, now);
            }
            keys.sort_by_cached_key(|key| Reverse(self.replicas[key].idle_slots(now)));
            for key in keys {
                self.attend(key, now);
                self.serve(key, now);
                let next_at = self.replicas.get(&key).and_then(|replica| replica.next_at(now));
                self.timers.set(Timer::Replica(key), next_at);
                if self.replicas.get(&key).is_some_and(|replica| replica.is_gone(now)) {
                    self.replicas.remove(&key);
                }
            }
        }
    }

    fn serve(&mut self, key: ReplicaKey, now: i64) {
        if self.is_draining {
            return;
        }
        self.send_buffered(key, now);
        if now < self.store_away_until || self.replicas.get(&key).is_none_or(ReplicaState::is_trying) {
            return;
        }
        // Its first requests decide what its cache holds.
        if self.releases.burst_ends_at(now).is_some() {
            return;
        }
        let rests =
            self.replicas.get_mut(&key).is_some_and(|replica| replica.rests(now)) && self.has_others(key);
        match self.model_to_host(key, now).filter(|_| !rests) {
            Some(model) => self.lease_trial(key, model, now),
            None => self.lease_runs(key, now),
        }
    }

    fn send_buffered(&mut self, key: ReplicaKey, now: i64) {
        let next = |replica: &ReplicaState| {
            let is_ready = replica.occupied() < replica.slots() && replica.is_ready_for_trial();
            replica.buffered.front().copied().filter(|_| is_ready && replica.is_usable(now))
        };
        while let Some(seq) = self.replicas.get(&key).and_then(next) {
            if !self.reserve(key, seq, now) {
                return;
            }
            let Some(replica) = self.replicas.get_mut(&key) else { return };
            replica.buffered.pop_front();
            if let Some(held) = self.leases_held.get_mut(&seq) {
                replica.occupy(seq);
                held.stage = Stage::InFlight;
                held.sent_at = now;
                self.out.push(SchedulerCommand::Send { replica: key, lease: held.lease.clone() });
            }
        }
    }

    /// Whether the replica has work other than suspects.
    fn has_others(&self, key: ReplicaKey) -> bool {
        let Some(replica) = self.replicas.get(&key) else { return false };
        let waits =
            |model| self.models.get(model).is_some_and(|it| it.partitions.values().any(|it| it.is_visible()));
        replica.claimed() > 0 || replica.config.models.iter().any(waits)
    }

    fn model_to_host(&self, key: ReplicaKey, now: i64) -> Option<ModelKey> {
        let has_suspects = |model| self.models.get(model).is_some_and(|it| it.suspects.are_due(now));
        let is_host = |model: &ModelKey| {
            let mut able = self.replicas.iter().filter(|(_, replica)| {
                replica.serves(*model)
                    && replica.is_usable(now)
                    && replica.slots() > 0
                    && replica.rate_room(now) > 0
            });
            able.next().is_some_and(|(host, _)| *host == key)
        };
        let models = &self.replicas.get(&key)?.config.models;
        models.iter().find(|model| has_suspects(model) && is_host(model)).copied()
    }

    fn lease_trial(&mut self, key: ReplicaKey, model: ModelKey, now: i64) {
        let run_max = self.run_max();
        let Some(state) = self.models.get_mut(&model) else { return };
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let is_free = |account| !replica.asks.contains_key(&QueuePartition { model, account });
        let most = replica.slots().min(run_max).min(replica.sendable(now));
        let Some((account, group)) = state.suspects.take_group(most, is_free) else { return };
        replica.begin_trial(model, &group, now);
        state.partition(account, now).held += group.len();
        self.release_buffered(key, None, now);
        self.ask_lease(key, QueuePartition { model, account }, group, now);
    }

    fn lease_runs(&mut self, key: ReplicaKey, now: i64) {
        let mut fruitless = 0;
        loop {
            let Some(replica) = self.replicas.get_mut(&key).filter(|it| it.room(Filling::Ahead, now) > 0)
            else {
                return;
            };
            let count = replica.config.models.len();
            if fruitless >= count {
                return;
            }
            let model = replica.config.models[replica.next_model % count];
            replica.next_model = (replica.next_model + 1) % count;
            if replica.is_out_for(model) {
                fruitless += 1;
                continue;
            }
            let filling = match self.is_another_idle(key, model, now) {
                true => Filling::IdleSlots,
                false => Filling::Ahead,
            };
            let room = self.replicas.get(&key).map_or(0, |it| it.room(filling, now));
            fruitless = if room > 0 && self.lease_run(key, model, room, now) { 0 } else { fruitless + 1 };
        }
    }

    /// Leasing ahead for one replica while another is idle would only make requests wait.
    pub(super) fn is_another_idle(&self, key: ReplicaKey, model: ModelKey, now: i64) -> bool {
        let is_idle = |it: &ReplicaState| {
            it.is_in_hours && it.serves(model) && !it.budget.is_short() && it.idle_slots(now) > 0
        };
        self.replicas.iter().any(|(it, other)| *it != key && is_idle(other))
    }

    /// Leases the next run for a replica with `room`; returns whether it found one.
    fn lease_run(&mut self, key: ReplicaKey, model: ModelKey, room: usize, now: i64) -> bool {
        let spread = self.spread(key, model, now);
        let left = self.replicas.get(&key).map_or(0, |it| spread.left_to(it, now));
        let wanted = room.min(self.run_max()).min(left);
        if wanted == 0 {
            return false;
        }
        let mut passed = BTreeSet::new();
        let taken = self.take_run(key, model, wanted, spread, &mut passed, now);
        if let Some(replica) = self.replicas.get_mut(&key).filter(|_| !passed.is_empty()) {
            replica.budget.note_short(self.time.shown(now));
        }
        match taken {
            Taken::Run(account, run) => self.ask_lease(key, QueuePartition { model, account }, run, now),
            Taken::Nothing => return false,
            Taken::HeldBack { tokens } => {
                if let Some(replica) = self.replicas.get_mut(&key) {
                    replica.rate.want(tokens);
                }
                return false;
            }
            Taken::OverBudget => {
                self.hold_back(key, model, now);
                return false;
            }
        }
        true
    }

    /// Takes up to `wanted` neighbours of the partition whose turn it is, and scans ahead if the replica's window is short. Takes none if a
    /// scan must answer first; with requests buffered, a short run waits for the scan that may lengthen it. Of a replica with rate limits,
    /// no more than may be sent immediately. Accounts whose next request takes more than is left of its budget are `passed` over.
    fn take_run(
        &mut self,
        key: ReplicaKey,
        model: ModelKey,
        wanted: usize,
        spread: Spread,
        passed: &mut BTreeSet<AccountKey>,
        now: i64,
    ) -> Taken {
        let (limit, unsent) = (self.look_limit(wanted), self.unsent(key));
        let Some(state) = self.models.get_mut(&model) else { return Taken::Nothing };
        let replicas = &self.replicas;
        let Some(replica) = replicas.get(&key) else { return Taken::Nothing };
        let idle_for_due_first = |other: ReplicaKey| {
            let other = replicas.get(&other)?;
            other.idle_for(model, now).map(|idle| idle.min(spread.left_to(other, now)))
        };
        let is_in_hours = |key: &ReplicaKey| replicas.get(key).is_some_and(|it| it.is_in_hours);
        let idle = |other: ReplicaKey| idle_for_due_first(other).filter(|_| is_in_hours(&other));
        let taker = Taker {
            replica: key,
            wanted,
            idle: &idle,
            idle_for_due_first: &idle_for_due_first,
            takes_due_first_only: !replica.is_in_hours,
        };
        let is_asked = |account| replica.asks.contains_key(&QueuePartition { model, account });
        let scan = |(account, range): (AccountKey, Range)| {
            let Range { scan, after, until, far } = range;
            let limit = far.unwrap_or(limit);
            let partition = QueuePartition { model, account };
            SchedulerCommand::Scan { partition, scan, replica: key, after, until, limit }
        };
        loop {
            let choice = state.choose(taker, is_asked, passed, now);
            self.out.extend(choice.scans.into_iter().map(scan));
            let Some(account) = choice.account else {
                let is_over = !passed.is_empty() && !state.has_others(passed);
                return if is_over { Taken::OverBudget } else { Taken::Nothing };
            };
            let (room, part) = (state.room_of(account, now), state.used_part(account));
            let partition = state.partition(account, now);
            let lent = if partition.left() > 0 { usize::MAX } else { replica.idle_slots(now) };
            let wanted = wanted.min(room).min(lent);
            self.out.extend(partition.scan_ahead(taker, wanted, now).map(|range| scan((account, range))));
            let (len, is_scanned) = partition.lists.window_of(key);
            if len < wanted && is_scanned && !replica.buffered.is_empty() {
                return Taken::Nothing;
            }
            let next = || partition.lists.next(taker, now).take(wanted).map(move |it| part.of(it.cost));
            let Some(in_budget) = replica.budget.count_fitting(unsent, next()) else {
                passed.insert(account);
                continue;
            };
            let wanted = wanted.min(in_budget.max(1));
            let wanted = match replica.rate.count_fitting(unsent, next(), now) {
                Ok(fitting) => wanted.min(fitting.max(1)),
                Err(tokens) => return Taken::HeldBack { tokens },
            };
            let run = partition.take(taker, wanted, now);
            if !run.is_empty() {
                self.out.extend(partition.scan_ahead(taker, wanted, now).map(|range| scan((account, range))));
                return Taken::Run(account, run);
            }
        }
    }

    fn run_max(&self) -> usize {
        usize::try_from(self.settings.run_max).unwrap_or(usize::MAX)
    }

    fn look_limit(&self, wanted: usize) -> u32 {
        let limit = if self.settings.is_shared {
            wanted.max(SHARED_LOOK_MIN)
        } else {
            wanted.saturating_mul(2).max(LOOK_MIN)
        };
        u32::try_from(limit).unwrap_or(u32::MAX).min(self.settings.look_max)
    }

    fn ask_lease(&mut self, key: ReplicaKey, partition: QueuePartition, run: Vec<Candidate>, now: i64) {
        let positions = run.iter().map(|it| it.position.clone()).collect();
        let limits = self.replicas.get(&key).map(|it| it.rate.limits).unwrap_or_default();
        let charged = self.model(partition.model).charge(partition.account, &run, limits);
        if let Some(replica) = self.replicas.get_mut(&key) {
            replica.asks.insert(partition, Ask { run, charged, asked_at: now, ended: BTreeSet::new() });
        }
        self.out.push(SchedulerCommand::Lease { replica: key, partition, positions });
    }
}
