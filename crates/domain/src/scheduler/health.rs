//! Probes, and the breakers that open when one fails. `doubts` decides what a probe means for requests.

use super::Scheduler;
use super::attempts::{Failure, Trouble};
use super::doubts::Evidence;
use super::failures::RETRY_AFTER_MAX_MS;
use super::leases_held::Doubt;
use super::messages::{ModelKey, ProbeOutcome, ReplicaKey, SchedulerCommand};
use super::replicas::Probe;
use super::retries::Backoff;

/// After a request was found at fault while others are in flight: time to wait for the completion of one that was sent later, before a
/// probe is sent.
const PATIENCE_MS: i64 = 1_000;

struct Pause {
    is_busy: bool,
    asked_ms: i64,
    reason: String,
}

impl Scheduler {
    /// Does what a replica needs without an input.
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

    /// The model to ask for in a probe, if one is due.
    fn model_to_probe(&self, key: ReplicaKey, now: i64) -> Option<ModelKey> {
        let replica = self.replicas.get(&key)?;
        let may_wait = |doubt: &Doubt| {
            doubt.failure.trouble == Trouble::Rejected && (0..PATIENCE_MS).contains(&(now - doubt.since))
        };
        let doubted = replica.doubts.iter().find_map(|seq| {
            let held = self.leases_held.get(seq)?;
            let waits = !replica.in_flight.is_empty() && held.doubt.as_ref().is_some_and(may_wait);
            (!waits).then_some(held.lease.key.partition.model)
        });
        let unreached = || replica.unreached.as_ref().map(|(model, _)| *model);
        let due = || replica.probes().find(|(_, at)| *at <= now).map(|(model, _)| model);
        let asked = || replica.asked_of.or(replica.silent_for).filter(|_| replica.busy_until <= now);
        doubted.or_else(unreached).or_else(asked).or_else(due)
    }

    pub(super) fn answer_probe(&mut self, key: ReplicaKey, outcome: ProbeOutcome, now: i64) {
        self.touched.insert(key);
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Some(probe) = replica.probe.take() else { return };
        let model = probe.model;
        let is_paused = replica.is_paused_for(model);
        replica.silent_for = None;
        let was_asked = replica.asked_of.take_if(|it| *it == model).is_some();
        match outcome {
            ProbeOutcome::Healthy => {
                replica.breaker(model).note_answered_probe();
                self.note_healthy(key, probe, now);
            }
            ProbeOutcome::Refused { code, message } => {
                self.note_refused_probe(key, probe, code, &message, now);
            }
            ProbeOutcome::Busy { retry_after_ms, message } if was_asked || is_paused => {
                self.settle_doubts(key, Some(model), Evidence::Busy, now);
                let asked_ms = retry_after_ms.unwrap_or_else(|| self.asked_ms(key, model, now));
                let reason = format!("the engine is busy: {message}");
                self.pause(key, model, Pause { is_busy: true, asked_ms, reason }, now);
            }
            ProbeOutcome::Busy { retry_after_ms, .. } => {
                self.note_full(key, model, Evidence::Busy, retry_after_ms.unwrap_or(0), now);
            }
            // It may be busy with other requests.
            ProbeOutcome::TimedOut(_) if !is_paused && !replica.in_flight.is_empty() => {
                replica.silent_for = Some(model);
                self.note_full(key, model, Evidence::Unknown, 0, now);
            }
            ProbeOutcome::Failed(why) | ProbeOutcome::TimedOut(why) => {
                let reason = self.reason_of(key, &why);
                self.note_death(key, Some(model), now);
                self.settle_doubts(key, Some(model), Evidence::Died, now);
                self.pause(key, model, Pause { is_busy: false, asked_ms: 0, reason }, now);
            }
        }
    }

    /// The engine refused the probe itself. It works, unless it refuses its requests in the same way: then it is paused, and now and then
    /// sent requests all the same, because only the probe may be at fault.
    fn note_refused_probe(&mut self, key: ReplicaKey, probe: Probe, code: u16, message: &str, now: i64) {
        let model = probe.model;
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let was_refused = replica.is_paused_for(model) && replica.breaker(model).has_refused_probe();
        let is_same = self.excuse_same_refusals(key, (model, code, message), now);
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        if !(is_same || was_refused) || replica.breaker(model).note_refused_probe() {
            return self.note_healthy(key, probe, now);
        }
        let reason = format!("the engine refuses every request with status {code}: {message}");
        self.pause(key, model, Pause { is_busy: false, asked_ms: 0, reason }, now);
    }

    /// The pause that the engine asked of requests, in milliseconds, up to a bound: an account may have caused it.
    fn asked_ms(&mut self, key: ReplicaKey, model: ModelKey, now: i64) -> i64 {
        let asked_until = self.replicas.get_mut(&key).map_or(now, |it| it.breaker(model).asked_until());
        asked_until.saturating_sub(now).clamp(0, RETRY_AFTER_MAX_MS)
    }

    pub(super) fn resume(&mut self, key: ReplicaKey, model: ModelKey) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        replica.breaker(model).close();
        self.touched.insert(key);
        self.out.push(SchedulerCommand::Resume { replica: key, model });
        self.recount_capacity(model);
    }

    /// Failures before the probe were the requests' own, except connections that all broke together.
    fn note_healthy(&mut self, key: ReplicaKey, probe: Probe, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        replica.unreached = None;
        let was_paused = replica.is_paused_for(probe.model);
        if !was_paused {
            replica.breaker(probe.model).close();
        }
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
            self.resume(key, probe.model);
        }
    }

    /// The replica has no room for its probe; `named_ms` is 0 if it named no time.
    fn note_full(&mut self, key: ReplicaKey, model: ModelKey, evidence: Evidence, named_ms: i64, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        replica.unreached = None;
        replica.back_off(named_ms, &mut self.random, now);
        self.settle_doubts(key, Some(model), evidence, now);
    }

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

    /// Opens the replica's breaker for a model and reports why. None of the model's requests is leased for it or waits for it any more.
    fn pause(&mut self, key: ReplicaKey, model: ModelKey, pause: Pause, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Pause { is_busy, asked_ms, reason } = pause;
        let backoff = Backoff { base_ms: self.settings.pause_base_ms, cap_ms: self.settings.pause_cap_ms };
        let breaker = replica.breaker(model);
        let rest_ms = backoff.equal_jitter_ms(breaker.openings(), &mut self.random);
        let until = now.saturating_add(rest_ms.max(asked_ms));
        breaker.open(until, is_busy, reason.clone());
        replica.unreached = None;
        self.touched.insert(key);
        self.out.push(SchedulerCommand::Pause { replica: key, model, until, reason });
        self.release_buffered(key, Some(model), now);
        self.recount_capacity(model);
    }
}
