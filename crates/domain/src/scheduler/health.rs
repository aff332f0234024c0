//! Probes, and the breaker that opens when one fails. What a probe tells of requests is for `doubts` to say.

use super::Scheduler;
use super::attempts::Failure;
use super::breaker::Health;
use super::doubts::Evidence;
use super::messages::{ModelKey, ProbeOutcome, ReplicaKey, SchedulerCommand};
use super::replicas::Probe;
use super::retries::Backoff;

impl Scheduler {
    /// What a replica needs that no input brings.
    pub(super) fn attend(&mut self, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get(&key) else { return };
        if replica.retiring {
            return self.settle_doubts(key, Evidence::Unknown, now);
        }
        let Some(model) = self.model_to_probe(key, now).filter(|_| replica.probe.is_none()) else { return };
        if let Some(replica) = self.replicas.get_mut(&key) {
            replica.probe = Some(Probe { asked_at: now, doubts: replica.doubts.len(), model });
            self.out.push(SchedulerCommand::Probe { replica: key, model });
        }
    }

    /// The model that a probe of the replica is to ask for, where one is due.
    fn model_to_probe(&self, key: ReplicaKey, now: i64) -> Option<ModelKey> {
        let replica = self.replicas.get(&key)?;
        let model = match (replica.breaker.health(), replica.doubts.first(), &replica.unreached) {
            (Health::Open { until, model }, ..) => return (until <= now).then_some(model),
            (Health::Closed, Some(seq), _) => self.leases_held.get(seq)?.lease.key.partition.model,
            (Health::Closed, None, Some((model, _))) => *model,
            (Health::Closed, None, None) => return None,
        };
        Some(model)
    }

    /// A probe was answered.
    pub(super) fn answer_probe(&mut self, key: ReplicaKey, outcome: ProbeOutcome, now: i64) {
        self.touched.insert(key);
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Some(probe) = replica.probe.take() else { return };
        let health = replica.breaker.health();
        match outcome {
            // A probe that began before the breaker opened tells nothing of it.
            _ if matches!(health, Health::Open { until, .. } if until > now) => {}
            ProbeOutcome::Healthy => self.note_healthy(key, probe, now),
            ProbeOutcome::Busy if health == Health::Closed => {
                replica.unreached = None;
                replica.back_off(0, &mut self.random, now);
                self.settle_doubts(key, Evidence::Unknown, now);
            }
            ProbeOutcome::Busy => self.pause(key, probe.model, "its probe found it busy".into(), now),
            ProbeOutcome::Failed(why) => {
                let reason = self.reason_of(key, &why);
                self.settle_doubts(key, Evidence::Died, now);
                self.pause(key, probe.model, reason, now);
            }
        }
    }

    /// Failures that came before the probe were the requests' own, but for connections that broke all at once.
    fn note_healthy(&mut self, key: ReplicaKey, probe: Probe, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        replica.unreached = None;
        let was_open = replica.breaker.is_open();
        replica.breaker.close();
        let came_back = replica.in_flight.is_empty() && replica.broken > 1;
        let earlier = replica.doubts[..probe.doubts.min(replica.doubts.len())].to_vec();
        if came_back {
            for seq in self.doubts(key, Failure::may_be_a_death) {
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
        if was_open {
            self.out.push(SchedulerCommand::Resume { replica: key });
        }
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

    /// Opens the replica's breaker and says why; nothing is leased for it or waits for it any more.
    fn pause(&mut self, key: ReplicaKey, model: ModelKey, reason: String, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let backoff = Backoff { base_ms: self.settings.pause_base_ms, cap_ms: self.settings.pause_cap_ms };
        let until = now + backoff.equal_jitter_ms(replica.breaker.openings(), &mut self.random);
        replica.breaker.open(until, model, reason.clone());
        replica.unreached = None;
        self.touched.insert(key);
        self.out.push(SchedulerCommand::Pause { replica: key, until, reason });
        self.release_buffered(key, now);
    }
}
