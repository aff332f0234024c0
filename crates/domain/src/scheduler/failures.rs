//! How attempts end: with a result, at once for good, later once more, or in doubt (`doubts`).

use super::Scheduler;
use super::attempts::{Failure, Verdict, judge};
use super::leases_held::{HeldLease, Mark, Stage};
use super::messages::{AttemptError, FailureCode, ModelKey, QueuePartition, ReplicaKey, SchedulerCommand};
use super::retries::Backoff;
use crate::records::FailedAttempt;

/// A `Retry-After` is honoured up to this by the request; and by the replica, where its probe found it busy too: then it is probed again.
pub(super) const RETRY_AFTER_MAX_MS: i64 = 10 * 60_000;
/// A `Retry-After` is honoured up to this by the replica on the word of one answer, which a request may have brought about.
const BUSY_MAX_MS: i64 = 60_000;
/// Buffered leases do not wait for a pause longer than this.
const BUFFER_PATIENCE_MS: i64 = 5_000;
/// Requests that a replica's death sent back come within this.
const SPREAD_MS: i64 = 500;

impl Scheduler {
    /// An attempt completed.
    pub(super) fn complete(&mut self, seq: i64, cost: i64, tokens: i64, now: i64) {
        if self.held_at(seq, Stage::InFlight).is_none() {
            return;
        }
        let Some(held) = self.let_go(seq) else { return };
        let partition = held.lease.key.partition;
        let slot_ms = (now - held.sent_at).max(1);
        let model = self.model(partition.model);
        model.settle(partition.account, held.charged.saturating_sub(held.bounds.of(cost)));
        model.peak.note_completion(cost.max(1));
        model.used.note_completion(held.cost, cost.max(1), slot_ms);
        let throughput = &mut model.partition(partition.account, now).throughput;
        throughput.note_completion(held.cost, cost.max(1), slot_ms);
        model.suspects.clear(partition.account, seq, held.suspect);
        if let Some(replica) = self.replicas.get_mut(&held.replica) {
            replica.limit.note_completion(cost.max(1), now);
            if let Some(reservation) = held.reservation {
                replica.rate.correct(reservation, tokens);
            }
        }
        self.correct_use(held.replica, held.budgeted, tokens);
        self.note_success(held.replica, partition.model, now);
    }

    /// The replica answered a request as an engine does that works.
    fn note_success(&mut self, key: ReplicaKey, model: ModelKey, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        if replica.busy_until <= now {
            replica.busy_step = 0;
        }
        replica.breaker(model).forgive();
        if let Some(process) = &mut replica.process {
            process.note_answer(now);
        }
        (replica.unreached, replica.silent_for) = (None, None);
        self.acquit(key, model, now);
    }

    /// An attempt brought no result.
    pub(super) fn fail_attempt(&mut self, seq: i64, error: AttemptError, now: i64) {
        let Some(key) = self.held_at(seq, Stage::InFlight).map(|held| held.replica) else { return };
        self.refund(seq, &error);
        match judge(error) {
            Verdict::Repeat => self.repeat(seq, key, now),
            Verdict::Doubted(failure) => self.doubt(seq, key, failure, now),
            Verdict::Unreached { detail } => self.note_unreached(seq, key, detail, now),
            Verdict::Busy { retry_after_ms } => self.note_busy(seq, key, retry_after_ms.unwrap_or(0), now),
            Verdict::Final { code, status, message } => {
                let Some(held) = self.let_go(seq) else { return };
                if code == FailureCode::EngineInvalidResponse {
                    self.note_success(key, held.lease.key.partition.model, now);
                }
                let attempt = FailedAttempt::new(now, status, message.clone());
                self.fail(held, code, message, attempt);
            }
        }
    }

    /// The engine never saw it, so it is as good as new. Nothing more is sent until the replica's probe is answered.
    fn note_unreached(&mut self, seq: i64, key: ReplicaKey, detail: String, now: i64) {
        let Some(held) = self.let_go(seq) else { return };
        self.cancel_reservations(&held);
        let model = held.lease.key.partition.model;
        if let Some(replica) = self.replicas.get_mut(&key).filter(|it| !it.is_paused_for(model)) {
            replica.unreached.get_or_insert((model, detail));
        }
        let retry_at = now + self.random.up_to(SPREAD_MS);
        self.release_unseen(held, retry_at, now);
    }

    fn note_busy(&mut self, seq: i64, key: ReplicaKey, retry_after_ms: i64, now: i64) {
        let Some(held) = self.let_go(seq) else { return };
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let (asked_ms, model) = (retry_after_ms.max(0), held.lease.key.partition.model);
        let pause_ms = replica.back_off(asked_ms.min(BUSY_MAX_MS), &mut self.random, now);
        if asked_ms > BUSY_MAX_MS && !replica.is_paused_for(model) {
            replica.breaker(model).ask(now.saturating_add(asked_ms));
            replica.asked_of.get_or_insert(model);
        }
        let retry_at = now + asked_ms.min(RETRY_AFTER_MAX_MS).max(self.random.up_to(pause_ms));
        let mark = held.unchanged();
        self.release_lease(held, retry_at, mark, now);
        if pause_ms > BUFFER_PATIENCE_MS {
            self.release_buffered(key, None, now);
        }
    }

    /// The attempt counts: tries the request again later, or fails it where its attempts are used up.
    pub(super) fn count_attempt(&mut self, held: HeldLease, failure: &Failure, suspect: bool, now: i64) {
        let attempts = held.attempts.saturating_add(1);
        let attempt = failure.attempt(now);
        if attempts >= self.settings.attempts_max {
            let mut message =
                format!("given up after {attempts} attempts; the last time, {}", failure.describe());
            message.truncate(message.floor_char_boundary(2 * FailedAttempt::MESSAGE_BYTES_MAX));
            return self.fail(held, failure.code(), message, attempt);
        }
        if suspect {
            let QueuePartition { model, account } = held.lease.key.partition;
            self.model(model).suspects.convict(account, held.seq());
        }
        let backoff = Backoff { base_ms: self.settings.retry_base_ms, cap_ms: self.settings.retry_cap_ms };
        let retry_at = now + backoff.full_jitter_ms(attempts.saturating_sub(1), &mut self.random);
        self.release_lease(held, retry_at, Mark { attempt: Some(attempt), suspect }, now);
    }

    /// The attempt does not count, for the replica was at fault: the request comes back within half a second.
    pub(super) fn excuse_attempt(&mut self, held: HeldLease, suspect: bool, now: i64) {
        let retry_at = now + self.random.up_to(SPREAD_MS);
        self.release_lease(held, retry_at, Mark { attempt: None, suspect }, now);
    }

    pub(super) fn fail(
        &mut self,
        held: HeldLease,
        code: FailureCode,
        message: String,
        attempt: FailedAttempt,
    ) {
        self.charge_in_full(&held);
        self.out.push(SchedulerCommand::Fail {
            replica: held.replica,
            lease: held.lease,
            code,
            message,
            attempt,
        });
    }
}
