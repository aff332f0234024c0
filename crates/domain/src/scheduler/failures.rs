//! How attempts end. An attempt counts against a request when the failure was its own on a healthy replica; see
//! [`Breaker::blames`](super::breaker::Breaker::blames) for the exact rule. `Connect` never counts.
//!
//! A connection that broke while others were in flight may mean that the replica died, and any of them may be why. So
//! the request waits up to half a second: if a second connection breaks or cannot be made, with no success between, the
//! replica is paused and all of them are suspects, uncounted; if something succeeds, or nothing more happens, the failure was its own. A suspect
//! runs alone. If it breaks the connection again, that counts and it stays a suspect, so that a poisoned request
//! uses its attempts up without harming neighbours; any other outcome of a run alone ends the suspicion.

use super::Scheduler;
use super::attempts::{Trouble, Verdict, judge};
use super::breaker::Ran;
use super::leases_held::{HeldLease, Mark, Stage};
use super::messages::{AttemptError, FailureCode, ReplicaKey, SchedulerCommand};
use super::replicas::ReplicaState;
use super::retries::Backoff;

/// A `Retry-After` is honoured up to this by the request.
const RETRY_AFTER_MAX_MS: i64 = 10 * 60_000;
/// A `Retry-After` is honoured up to this by the replica.
const BUSY_MAX_MS: i64 = 60_000;
/// Buffered leases do not wait for a pause longer than this.
const BUFFER_PATIENCE_MS: i64 = 5_000;
/// Requests that a replica's death sent back come within this.
const SPREAD_MS: i64 = 500;

/// What became of a replica whose connections broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It died, and any of the requests may be why.
    Died,
    /// It lives: each connection broke by itself.
    Lives,
}

impl Scheduler {
    /// An attempt completed.
    pub(super) fn complete(&mut self, seq: i64, cost: i64, now: i64) {
        if self.held_at(seq, Stage::InFlight).is_none() {
            return;
        }
        let Some(held) = self.let_go(seq) else { return };
        let partition = held.lease.key.partition;
        self.model(partition.model).settle(partition.account, held.cost.saturating_sub(cost.max(1)));
        self.note_success(held.replica, now);
    }

    fn note_success(&mut self, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        replica.is_dying = false;
        if replica.busy_until <= now {
            replica.busy_step = 0;
        }
        if replica.breaker.succeed() {
            self.out.push(SchedulerCommand::Resume { replica: key });
        }
        self.settle_broken(key, Fate::Lives, now);
    }

    /// An attempt brought no result.
    pub(super) fn fail_attempt(&mut self, seq: i64, error: AttemptError, now: i64) {
        let Some(key) = self.held_at(seq, Stage::InFlight).map(|held| held.replica) else { return };
        match judge(error) {
            Verdict::Again { trouble, detail } => self.note_failure(seq, key, trouble, &detail, now),
            Verdict::Busy { retry_after_ms } => self.note_busy(seq, key, retry_after_ms.unwrap_or(0), now),
            Verdict::Doubted { code, message } => self.doubt(seq, key, (code, message), now),
            Verdict::Final { code, message } => {
                let Some(held) = self.let_go(seq) else { return };
                if code == FailureCode::EngineInvalidResponse {
                    self.note_success(key, now);
                }
                self.fail(held, code, message);
            }
        }
    }

    fn note_failure(&mut self, seq: i64, key: ReplicaKey, trouble: Trouble, detail: &str, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let was_suspect = self.leases_held.get(&seq).is_some_and(|held| held.suspect);
        let was_alone = replica.alone == Some(seq);
        let is_dying = replica.is_dying;
        let ran = match (was_alone, was_suspect) {
            (true, true) => Ran::AloneAsSuspect,
            (true, false) => Ran::Alone,
            (false, _) => Ran::AmongOthers,
        };
        let counted = replica.breaker.blames(seq, ran);
        let must_open = replica.breaker.fail(seq, self.settings.breaker_failures);
        match trouble {
            Trouble::Unreached => {
                self.settle_broken(key, Fate::Died, now);
                self.return_unseen(seq, now);
            }
            Trouble::Broke if was_alone => self.retry(seq, trouble, Mark { counted, suspect: true }, now),
            Trouble::Broke => {
                self.set_broken(seq, key, now);
                if is_dying || self.replicas.get(&key).is_some_and(|it| it.broken.len() > 1) {
                    self.settle_broken(key, Fate::Died, now);
                }
            }
            Trouble::Silent | Trouble::Answered(_) | Trouble::Nonsense => {
                self.retry(seq, trouble, Mark { counted, suspect: false }, now);
            }
        }
        let has_died = self.replicas.get(&key).is_some_and(|it| it.is_dying && !it.breaker.is_open());
        if must_open || has_died {
            self.pause(key, format!("{}: {detail}", trouble.describe()), now);
        }
    }

    /// The engine never saw it, so it is as good as new: how long to wait is for the replica's breaker to say.
    fn return_unseen(&mut self, seq: i64, now: i64) {
        let Some(held) = self.let_go(seq) else { return };
        let (retry_at, mark) = (now + self.random.up_to(SPREAD_MS), held.unchanged());
        self.release_lease(held, retry_at, mark, now);
    }

    fn set_broken(&mut self, seq: i64, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Some(held) = self.leases_held.get_mut(&seq) else { return };
        held.stage = Stage::Broken;
        replica.in_flight.remove(&seq);
        if replica.broken.is_empty() {
            replica.broken_at = now;
        }
        replica.broken.push(seq);
        self.touched.insert(key);
    }

    /// It is known whether the replica died when these connections broke.
    pub(super) fn settle_broken(&mut self, key: ReplicaKey, fate: Fate, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let broken = std::mem::take(&mut replica.broken);
        replica.is_dying |= fate == Fate::Died && !broken.is_empty();
        for seq in broken {
            if fate == Fate::Died {
                let Some(held) = self.let_go(seq) else { continue };
                let retry_at = now + self.random.up_to(SPREAD_MS);
                self.release_lease(held, retry_at, Mark { counted: false, suspect: true }, now);
            } else {
                let blames = |it: &ReplicaState| it.breaker.blames(seq, Ran::AmongOthers);
                let counted = self.replicas.get(&key).is_some_and(blames);
                self.retry(seq, Trouble::Broke, Mark { counted, suspect: false }, now);
            }
        }
    }

    /// Tries a request again later, or fails it where its attempts are used up.
    fn retry(&mut self, seq: i64, trouble: Trouble, mark: Mark, now: i64) {
        let Some(held) = self.let_go(seq) else { return };
        let attempts = held.attempts.saturating_add(u32::from(mark.counted));
        if mark.counted && attempts >= self.settings.attempts_max {
            let message =
                format!("given up after {attempts} attempts; the last time, {}", trouble.describe());
            return self.fail(held, trouble.code(), message);
        }
        let failures = self.replicas.get(&held.replica).map_or(0, |replica| replica.breaker.failures());
        let backoff = Backoff { base_ms: self.settings.retry_base_ms, cap_ms: self.settings.retry_cap_ms };
        let step = attempts.max(failures).saturating_sub(1);
        let retry_at = now + backoff.full_jitter_ms(step, &mut self.random);
        self.release_lease(held, retry_at, mark, now);
    }

    fn note_busy(&mut self, seq: i64, key: ReplicaKey, retry_after_ms: i64, now: i64) {
        let Some(held) = self.let_go(seq) else { return };
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let asked_ms = retry_after_ms.clamp(0, RETRY_AFTER_MAX_MS);
        let pause_ms = replica.back_off(asked_ms.min(BUSY_MAX_MS), &mut self.random, now);
        let retry_at = now + asked_ms.max(self.random.up_to(pause_ms));
        let mark = held.unchanged();
        self.release_lease(held, retry_at, mark, now);
        if pause_ms > BUFFER_PATIENCE_MS {
            self.release_buffered(key, now);
        }
    }

    pub(super) fn fail(&mut self, held: HeldLease, code: FailureCode, message: String) {
        self.out.push(SchedulerCommand::Fail { lease: held.lease, code, message });
    }
}
