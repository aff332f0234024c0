//! Whose fault is it: a replica's breaker opens and closes, and a replica's own probe settles what its engine refused.
//!
//! A refused request keeps its slot until a probe that began after the refusal is answered, so a tenant who provokes
//! refusals holds up nobody else's requests, and an engine that refuses everything holds at most its slots.

use super::Scheduler;
use super::breaker::Health;
use super::failures::Fate;
use super::leases_held::Stage;
use super::messages::{FailureCode, ReplicaKey, SchedulerCommand};
use super::replicas::Probe;
use super::retries::Backoff;

impl Scheduler {
    /// What a replica needs that no input brings: the end of a wait.
    pub(super) fn attend(&mut self, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get(&key) else { return };
        if replica.is_burst_over(now) {
            self.settle_broken(key, Fate::Lives, now);
        }
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        if replica.retiring {
            return self.return_doubts(key, now);
        }
        if replica.is_idle_half_open(now) {
            replica.breaker.close();
            self.out.push(SchedulerCommand::Resume { replica: key });
        }
        let is_due = matches!(replica.breaker.health(), Health::Open { until } if until <= now);
        if replica.probe.is_none() && (is_due || !replica.doubts.is_empty()) {
            replica.probe = Some(Probe { asked_at: now, doubts: replica.doubts.len() });
            self.out.push(SchedulerCommand::Probe { replica: key });
        }
    }

    /// The engine refused a request in a way that may be the operator's fault.
    pub(super) fn doubt(&mut self, seq: i64, key: ReplicaKey, refusal: (u16, String), now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Some(held) = self.leases_held.get_mut(&seq) else { return };
        replica.in_flight.remove(&seq);
        replica.doubts.push(seq);
        held.stage = Stage::Doubted;
        held.refusal = Some(refusal);
        self.touched.insert(key);
        if replica.breaker.is_open() {
            self.return_doubts(key, now);
        }
    }

    fn return_doubts(&mut self, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let doubts = std::mem::take(&mut replica.doubts);
        replica.probe = replica.probe.map(|probe| Probe { doubts: 0, ..probe });
        for seq in doubts {
            self.return_doubted(seq, now);
        }
    }

    fn return_doubted(&mut self, seq: i64, now: i64) {
        if let Some(held) = self.let_go(seq) {
            let mark = held.unchanged();
            self.release_lease(held, now, mark, now);
        }
    }

    /// A probe was answered: refusals that came before it were the requests' fault where the replica is well.
    pub(super) fn answer_probe(&mut self, key: ReplicaKey, healthy: bool, now: i64) {
        self.touched.insert(key);
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Some(probe) = replica.probe.take() else { return };
        let settled: Vec<_> = replica.doubts.drain(..probe.doubts.min(replica.doubts.len())).collect();
        let health = replica.breaker.health();
        let mut reason = match health {
            Health::Open { .. } => replica.breaker.reason().to_owned(),
            _ => "its probe failed".to_owned(),
        };
        for seq in settled {
            let refusal = self.leases_held.get_mut(&seq).and_then(|held| held.refusal.take());
            let (code, words) = refusal.unwrap_or_default();
            if !healthy {
                reason = format!("the engine refused a request ({code}: {words}) and its probe failed");
                self.return_doubted(seq, now);
            } else if let Some(held) = self.let_go(seq) {
                self.fail(held, FailureCode::EngineRejected, words);
            }
        }
        match health {
            Health::Open { until } if until > now => {}
            Health::Open { .. } if healthy => {
                if let Some(replica) = self.replicas.get_mut(&key) {
                    replica.breaker.half_open(now);
                    replica.is_dying = false;
                }
            }
            Health::Closed | Health::HalfOpen { .. } if healthy => {}
            _ => self.pause(key, reason, now),
        }
    }

    /// Opens the replica's breaker and says why; nothing is leased for it or waits for it any more.
    pub(super) fn pause(&mut self, key: ReplicaKey, reason: String, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let backoff = Backoff { base_ms: self.settings.pause_base_ms, cap_ms: self.settings.pause_cap_ms };
        let until = now + backoff.equal_jitter_ms(replica.breaker.openings(), &mut self.random);
        replica.breaker.open(until, reason.clone());
        self.touched.insert(key);
        self.out.push(SchedulerCommand::Pause { replica: key, until, reason });
        self.return_doubts(key, now);
        self.release_buffered(key, now);
    }
}
