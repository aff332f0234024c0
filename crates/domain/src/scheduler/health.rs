//! Probes, and the breakers that open when one fails. What a probe tells of requests is for `doubts` to say.

use super::Scheduler;
use super::attempts::Failure;
use super::doubts::Evidence;
use super::failures::RETRY_AFTER_MAX_MS;
use super::messages::{ModelKey, ProbeOutcome, ReplicaKey, SchedulerCommand};
use super::replicas::Probe;
use super::retries::Backoff;

impl Scheduler {
    /// What a replica needs that no input brings.
    pub(super) fn attend(&mut self, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get(&key) else { return };
        if replica.has_crashed() {
            return self.settle_doubts(key, None, Evidence::Died, now);
        }
        let is_open = !replica.is_closed() && replica.has_budget_for_probe();
        if replica.retiring || !is_open || !replica.is_running() {
            return self.settle_doubts(key, None, Evidence::Unknown, now);
        }
        let Some(model) = self.model_to_probe(key, now).filter(|_| replica.probe.is_none()) else { return };
        if !self.reserve_probe(key, now) {
            return;
        }
        if let Some(replica) = self.replicas.get_mut(&key) {
            replica.probe = Some(Probe { asked_at: now, doubts: replica.doubts.len(), model });
            self.out.push(SchedulerCommand::Probe { replica: key, model });
        }
    }

    /// The model that a probe of the replica is to ask for, where one is due.
    fn model_to_probe(&self, key: ReplicaKey, now: i64) -> Option<ModelKey> {
        let replica = self.replicas.get(&key)?;
        let model_of = |seq: &i64| self.leases_held.get(seq).map(|held| held.lease.key.partition.model);
        let doubted = replica.doubts.first().and_then(model_of);
        let unreached = || replica.unreached.as_ref().map(|(model, _)| *model);
        let due = || replica.probes().find(|(_, at)| *at <= now).map(|(model, _)| model);
        let asked = || replica.asked_of.or(replica.silent_for).filter(|_| replica.busy_until <= now);
        doubted.or_else(unreached).or_else(asked).or_else(due)
    }

    /// A probe was answered.
    pub(super) fn answer_probe(&mut self, key: ReplicaKey, outcome: ProbeOutcome, now: i64) {
        self.touched.insert(key);
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Some(probe) = replica.probe.take() else { return };
        let model = probe.model;
        let is_paused = replica.is_paused_for(model);
        replica.silent_for = None;
        let was_asked = replica.asked_of.take_if(|it| *it == model).is_some();
        match outcome {
            ProbeOutcome::Healthy | ProbeOutcome::Refused { .. } => self.note_healthy(key, probe, now),
            ProbeOutcome::Busy { .. } if was_asked => {
                self.settle_doubts(key, Some(model), Evidence::Busy, now);
                let reason =
                    "the engine asks to be left alone (429 or 503 with Retry-After); its probe found it busy";
                self.pause(key, model, reason.into(), now);
            }
            ProbeOutcome::Busy { .. } if is_paused => {
                self.pause(key, model, "its probe found it busy".into(), now)
            }
            ProbeOutcome::Busy { .. } => self.note_full(key, model, Evidence::Busy, now),
            // Other requests may be what it is busy with.
            ProbeOutcome::TimedOut(_) if !is_paused && !replica.in_flight.is_empty() => {
                replica.silent_for = Some(model);
                self.note_full(key, model, Evidence::Unknown, now);
            }
            ProbeOutcome::Failed(why) | ProbeOutcome::TimedOut(why) => {
                let reason = self.reason_of(key, &why);
                self.note_death(key, Some(model), now);
                self.settle_doubts(key, Some(model), Evidence::Died, now);
                self.pause(key, model, reason, now);
            }
        }
    }

    /// Failures that came before the probe were the requests' own, but for connections that broke all at once.
    fn note_healthy(&mut self, key: ReplicaKey, probe: Probe, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        replica.unreached = None;
        let was_paused = replica.is_paused_for(probe.model);
        replica.breaker(probe.model).close();
        let came_back = replica.broken > 1 && !replica.has_survivors();
        let earlier = replica.doubts[..probe.doubts.min(replica.doubts.len())].to_vec();
        if came_back {
            self.note_death(key, None, now);
            for seq in self.doubts(key, |_, failure| Failure::may_be_a_death(failure)) {
                self.settle_doubt(seq, Evidence::Died, now);
            }
        }
        for seq in earlier {
            let is_its_model =
                self.leases_held.get(&seq).is_some_and(|it| it.lease.key.partition.model == probe.model);
            if is_its_model {
                self.settle_doubt(seq, Evidence::Works, now);
            }
        }
        if was_paused {
            self.out.push(SchedulerCommand::Resume { replica: key, model: probe.model });
            self.recount_capacity(probe.model);
        }
    }

    /// The replica has no room for its probe.
    fn note_full(&mut self, key: ReplicaKey, model: ModelKey, evidence: Evidence, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        replica.unreached = None;
        replica.back_off(0, &mut self.random, now);
        self.settle_doubts(key, Some(model), evidence, now);
    }

    /// Why a replica is paused, for the operator.
    fn reason_of(&self, key: ReplicaKey, probe: &str) -> String {
        let Some(replica) = self.replicas.get(&key) else { return String::new() };
        let doubt = replica.doubts.first().and_then(|seq| self.leases_held.get(seq)?.doubt.as_ref());
        let before = match (doubt, &replica.unreached) {
            (Some(doubt), _) if doubt.failure.status.is_some() => doubt.failure.describe(),
            (Some(doubt), _) => format!("{}: {}", doubt.failure.describe(), doubt.failure.detail),
            (None, Some((_, detail))) => format!("the engine could not be reached: {detail}"),
            (None, None) => return format!("its probe failed: {probe}"),
        };
        format!("{before}; its probe failed: {probe}")
    }

    /// Opens the replica's breaker for a model and says why; nothing of the model is leased for it or waits for it any more.
    fn pause(&mut self, key: ReplicaKey, model: ModelKey, reason: String, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let backoff = Backoff { base_ms: self.settings.pause_base_ms, cap_ms: self.settings.pause_cap_ms };
        let breaker = replica.breaker(model);
        let asked_ms = breaker.asked_until().saturating_sub(now).min(RETRY_AFTER_MAX_MS);
        let until = now + backoff.equal_jitter_ms(breaker.openings(), &mut self.random).max(asked_ms);
        breaker.open(until, reason.clone());
        replica.unreached = None;
        self.touched.insert(key);
        self.out.push(SchedulerCommand::Pause { replica: key, model, until, reason });
        self.release_buffered(key, Some(model), now);
        self.recount_capacity(model);
    }
}
