//! Whose fault is it? A failure that may be the request's or the replica's keeps its slot until there is evidence, so that an account that
//! provokes failures delays no other's requests, and an engine that fails everything holds at most its slots.
//!
//! The replica works, and the attempt counts against its request, if the replica then completes another request or a probe that began after
//! the failure. The replica is at fault, and no attempt counts, if that probe fails. The number of failures is no evidence: an account can
//! cause any number, and one person may have several accounts.
//!
//! A request that the engine finds at fault (400, 413, 422) fails immediately if the replica works. If the probe is refused in the same
//! way, the refusal is about the engine or the provider's account: the replica is paused, and no request fails.
//!
//! A broken connection may mean that the replica died, and a missing answer that it hangs; anything that ran there may be the reason. If
//! the probe fails, or several connections broke and none survived (it died and was back before the probe), the requests that failed so
//! become suspects, uncounted. `suspects` finds the guilty ones: a suspect that fails so while it has the replica to itself is counted and
//! stays a suspect. So a request that kills or hangs its engine uses up its attempts without harming neighbours. A result, and any other
//! failure of its own, ends the suspicion.

use std::collections::{BTreeMap, BTreeSet};

use super::Scheduler;
use super::attempts::{Failure, Trouble};
use super::leases_held::{Doubt, Stage};
use super::messages::{ModelKey, QueuePartition, ReplicaKey};
use super::replicas::ReplicaState;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    Works,
    /// It does not work, or did not when the connection broke.
    Died,
    /// It answers, but has no room to show whether it works.
    Busy,
    /// Unknown for good.
    Unknown,
}

impl Scheduler {
    /// An attempt failed, and its error does not show whose fault it is.
    pub(super) fn doubt(&mut self, seq: i64, key: ReplicaKey, failure: Failure, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Some(held) = self.leases_held.get_mut(&seq) else { return };
        let was_alone = replica.alone == Some(seq);
        let sent = replica.sent();
        replica.in_flight.remove(&seq);
        replica.doubts.push(seq);
        held.stage = Stage::Doubted;
        if failure.may_be_a_death() {
            replica.note_broken();
        }
        let model = held.lease.key.partition.model;
        held.doubt = Some(Doubt { failure, was_alone, sent, since: now });
        self.touched.insert(key);
        if replica.is_paused_for(model) {
            self.settle_doubt(seq, Evidence::Died, now);
        }
    }

    /// The replica completed a request for the model, the `number`th that it was sent: it was not at fault in earlier failures. Refusals
    /// need the completion of a request that was sent after them: a revoked key fails later requests, not those in flight.
    pub(super) fn acquit(&mut self, key: ReplicaKey, model: ModelKey, number: u64, now: i64) {
        for seq in self.doubts(key, |of, _| of == model) {
            let doubt = self.leases_held.get(&seq).and_then(|held| held.doubt.as_ref());
            if doubt.is_some_and(|it| !it.failure.is_refusal() || it.sent < number) {
                self.settle_doubt(seq, Evidence::Works, now);
            }
        }
    }

    /// The replica refused its probe: it was not the requests' fault that they were refused in the same way. Returns whether there were
    /// any.
    pub(super) fn excuse_same_refusals(
        &mut self,
        key: ReplicaKey,
        (of, code, message): (ModelKey, u16, &str),
        now: i64,
    ) -> bool {
        let same = self.doubts(key, |model, failure| model == of && failure.is_same_refusal(code, message));
        for seq in &same {
            self.settle_doubt(*seq, Evidence::Died, now);
        }
        !same.is_empty()
    }

    /// The replica's doubts of such a model and failure, oldest first.
    pub(super) fn doubts(&self, key: ReplicaKey, is_such: impl Fn(ModelKey, &Failure) -> bool) -> Vec<i64> {
        let Some(replica) = self.replicas.get(&key) else { return Vec::new() };
        let is_such = |seq: &i64| {
            let Some(held) = self.leases_held.get(seq) else { return false };
            held.doubt.as_ref().is_some_and(|it| is_such(held.lease.key.partition.model, &it.failure))
        };
        replica.doubts.iter().copied().filter(is_such).collect()
    }

    /// Settles the doubts of a replica's model, or all of them, in the same way.
    pub(super) fn settle_doubts(
        &mut self,
        key: ReplicaKey,
        model: Option<ModelKey>,
        evidence: Evidence,
        now: i64,
    ) {
        for seq in self.doubts(key, |of, _| model.is_none_or(|model| of == model)) {
            self.settle_doubt(seq, evidence, now);
        }
    }

    /// The replica died with everything it ran for a model, or for all of them. If suspects were among it, the next trials are smaller, and
    /// none runs amid ordinary work for a while.
    pub(super) fn note_death(&mut self, key: ReplicaKey, model: Option<ModelKey>, now: i64) {
        let is_meant = |of: ModelKey| model.is_none_or(|model| of == model);
        let broken = self.doubts(key, |of, failure| is_meant(of) && failure.may_be_guilty());
        let Some(replica) = self.replicas.get(&key) else { return };
        let suspect = |seq: &i64| self.leases_held.get(seq).filter(|held| held.suspect);
        // No request survives its process.
        let surely_broken = replica.in_flight.keys().filter(|_| replica.has_crashed());
        if !broken.iter().chain(surely_broken).any(|seq| suspect(seq).is_some()) {
            return;
        }
        let mut groups: BTreeMap<QueuePartition, BTreeSet<i64>> = BTreeMap::new();
        // The others in flight broke too, and will be reported.
        for held in broken.iter().chain(replica.in_flight.keys()).filter_map(suspect) {
            let partition = held.lease.key.partition;
            if is_meant(partition.model) {
                groups.entry(partition).or_default().insert(held.seq());
            }
        }
        let models: BTreeSet<ModelKey> = groups.keys().map(|partition| partition.model).collect();
        for (QueuePartition { model, account }, group) in groups {
            self.model(model).suspects.note_death(account, group, now);
        }
        for model in models {
            self.set_suspects_aside(model, now);
        }
    }

    /// Suspects of the model that were seen, or wait for a slot, do not run amid ordinary work.
    fn set_suspects_aside(&mut self, key: ModelKey, now: i64) {
        let model = self.model(key);
        for (account, partition) in &mut model.partitions {
            for candidate in partition.take_suspects(now) {
                model.suspects.set_aside(*account, candidate);
            }
        }
        let is_meant = |seq: &i64, trial: &BTreeSet<i64>| {
            let held = self.leases_held.get(seq).filter(|_| !trial.contains(seq));
            held.is_some_and(|it| it.suspect && it.lease.key.partition.model == key)
        };
        let of = |replica: &ReplicaState| {
            replica.buffered.iter().copied().filter(|seq| is_meant(seq, &replica.trial)).collect::<Vec<_>>()
        };
        let meant: Vec<i64> = self.replicas.values().flat_map(of).collect();
        for seq in meant {
            if let Some(held) = self.let_go(seq) {
                self.release_unseen(held, now, now);
            }
        }
    }

    /// Whose fault a failure was is as clear as it will be.
    pub(super) fn settle_doubt(&mut self, seq: i64, evidence: Evidence, now: i64) {
        let Some(mut held) = self.let_go(seq) else { return };
        let Some(Doubt { failure, was_alone, .. }) = held.doubt.take() else { return };
        if matches!(evidence, Evidence::Works | Evidence::Busy) {
            self.charge_slot_time(&held, now);
        }
        let may_be_a_death = failure.may_be_a_death();
        let killed_alone = was_alone && held.suspect && failure.may_be_guilty();
        match (evidence, failure.trouble) {
            (Evidence::Works, Trouble::Refused | Trouble::Rejected | Trouble::Slow) => {
                let (code, attempt) = (failure.code(), failure.attempt(now));
                self.fail(held, code, failure.detail, attempt);
            }
            (Evidence::Works | Evidence::Busy, Trouble::Aborted) => {
                self.repeat_uncounted(held, &failure, now);
            }
            (Evidence::Works, _) => {
                let suspect = may_be_a_death && (was_alone || held.suspect);
                self.count_attempt(held, &failure, suspect, now);
            }
            // An answered request is not a matter of room.
            (Evidence::Busy, Trouble::Answered | Trouble::Nonsense) => {
                self.count_attempt(held, &failure, false, now);
            }
            (Evidence::Died | Evidence::Busy | Evidence::Unknown, _) if failure.is_refusal() => {
                let mark = held.unchanged();
                self.release_lease(held, now, mark, now);
            }
            (Evidence::Died, _) if killed_alone => self.count_attempt(held, &failure, true, now),
            (Evidence::Died, _) => {
                let suspect = failure.may_be_guilty();
                self.excuse_attempt(held, suspect, now);
            }
            (Evidence::Busy | Evidence::Unknown, _) => {
                let suspect = held.suspect;
                self.excuse_attempt(held, suspect, now);
            }
        }
    }
}
