//! How attempts end: with a result, a permanent failure, a retry, or in doubt (`doubts`).
//!
//! | failure | at fault | attempts | delay |
//! |---|---|---|---|
//! | no connection, or the probe fails too | the replica, which is paused | none counts | until its probe is answered |
//! | 429, 503 | the account, or the replica if several accounts are refused and no request completes | none counts | the time that the engine named, a minute at most if another engine takes requests; else 0.25 s, doubled up to a minute |
//! | a generation that the engine aborted | the engine | none counts | as below |
//! | any other status of 408, 425, 5xx, a broken connection, and 401 to 404, 407, 409, 423, 424, 449, 498, 499 | the request | while the completion window lasts | 0.5 s to 4 s, then 30 s, 2 min, 8 min, 30 min, then hourly |
//! | an answer that cannot be read; 400 with words that depend on chance | the request | 8 | the same |
//! | the request breaks its connection, or the engine, while it runs alone | the request | 8 times | the same |
//! | no answer in time, twice | the request | 2 | the same |
//! | 400, 413, 422 and other refusals, if the probe is answered; 429 to a request that is larger than the limit | the request | 1 | |

use super::Scheduler;
use super::attempts::{Failure, Verdict, judge};
use super::histories::History;
use super::leases_held::{HeldLease, Mark, Stage};
use super::messages::{AttemptError, FailureCode, ModelKey, QueuePartition, ReplicaKey, SchedulerCommand};
use super::refusals::NAMED_MAX_MS;
use super::retries::{Backoff, next_attempt_at};
use super::timers::Timer;
use crate::records::FailedAttempt;

/// A replica whose probe found it busy without a named time honours the times named to its requests, up to this.
pub(super) const RETRY_AFTER_MAX_MS: i64 = 10 * 60_000;
/// Buffered leases do not wait for a longer pause.
const BUFFER_PATIENCE_MS: i64 = 5_000;
/// Requests that a replica's death sent back return within this time.
const SPREAD_MS: i64 = 500;
/// Wait of a refused request if the engine names no time.
const REFUSED: Backoff = Backoff { base_ms: 250, cap_ms: 60_000 };
const DURATION_MIN_MS: i64 = 1_000;

impl Scheduler {
    pub(super) fn complete(&mut self, seq: i64, cost: i64, tokens: i64, now: i64) {
        if self.held_at(seq, Stage::InFlight).is_none() {
            return;
        }
        let number = self.number_of(seq);
        let Some(held) = self.let_go(seq) else { return };
        self.histories.forget(seq);
        let partition = held.lease.key.partition;
        let slot_ms = (now - held.sent_at).max(1);
        let model = self.model(partition.model);
        model.settle(partition.account, held.charged.saturating_sub(held.bounds.of(cost)));
        model.peak.note_completion(cost.max(1));
        model.used.note_completion(held.cost, cost.max(1), slot_ms);
        let capacity = usize::try_from(model.capacity).unwrap_or(usize::MAX);
        let state = model.partition(partition.account, now);
        state.throughput.note_completion(held.cost, cost.max(1), slot_ms);
        state.refusals.note_completion(capacity);
        model.suspects.clear(partition.account, seq, held.suspect);
        if let Some(replica) = self.replicas.get_mut(&held.replica) {
            replica.limit.note_completion(cost.max(1), now);
            if let Some(reservation) = held.reservation {
                replica.rate.correct(reservation, tokens);
            }
        }
        self.correct_use(held.replica, held.budgeted, tokens);
        self.note_success(held.replica, partition.model, number, now);
    }

    /// The position of a request in flight among all that its replica was sent.
    fn number_of(&self, seq: i64) -> u64 {
        let held = self.leases_held.get(&seq);
        let replica = held.and_then(|held| self.replicas.get(&held.replica));
        replica.and_then(|replica| replica.in_flight.get(&seq)).copied().unwrap_or(0)
    }

    /// The replica answered the `number`th request that it was sent as a working engine does.
    fn note_success(&mut self, key: ReplicaKey, model: ModelKey, number: u64, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        replica.note_room(now);
        let has_room = replica.breaker(model).is_busy();
        replica.breaker(model).forgive();
        if let Some(process) = &mut replica.process {
            process.note_answer(now);
        }
        (replica.unreached, replica.silent_for) = (None, None);
        self.acquit(key, model, number, now);
        if has_room {
            self.resume(key, model);
        }
    }

    pub(super) fn fail_attempt(&mut self, seq: i64, error: AttemptError, now: i64) {
        let Some(key) = self.held_at(seq, Stage::InFlight).map(|held| held.replica) else { return };
        let number = self.number_of(seq);
        self.refund(seq, &error);
        match judge(error) {
            Verdict::Repeat => self.repeat(seq, key, now),
            Verdict::Doubted(failure) => self.doubt(seq, key, failure, now),
            Verdict::Unreached { detail } => self.note_unreached(seq, key, detail, now),
            Verdict::Busy { retry_after_ms, refusal } => {
                self.note_busy(seq, key, retry_after_ms.unwrap_or(0), &refusal, now);
            }
            Verdict::Final { code, status, message } => {
                let Some(held) = self.let_go(seq) else { return };
                if code == FailureCode::EngineInvalidResponse {
                    self.note_success(key, held.lease.key.partition.model, number, now);
                }
                let attempt = FailedAttempt::new(now, status, message.clone());
                self.fail(held, code, message, attempt);
            }
        }
    }

    /// The engine never saw it, so no attempt counts. No more is sent until the replica's probe is answered.
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

    /// The engine has no room for the request, which waits by itself. Its account is held back if another of its requests was refused too.
    /// The replica rests if requests of several accounts were refused and none completed. The request fails if no further attempt can
    /// finish in time, unless because of the time that the engine named.
    fn note_busy(&mut self, seq: i64, key: ReplicaKey, named_ms: i64, refusal: &Failure, now: i64) {
        let Some(held) = self.let_go(seq) else { return };
        self.charge_slot_time(&held, now);
        let (named_ms, partition) = (named_ms.max(0), held.lease.key.partition);
        let is_narrower = self.hold_back_refused(partition, seq, named_ms, now);
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let are_several = replica.refused.note(partition.account, seq, refusal.detail.clone());
        let is_alone = self.is_alone_in_flight(key, partition);
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let pause_ms = match are_several.accounts {
            true => replica.back_off(named_ms.min(NAMED_MAX_MS), &mut self.random, now),
            false => 0,
        };
        if is_narrower && is_alone && !are_several.accounts {
            replica.limit.note_refusal();
        }
        if named_ms > NAMED_MAX_MS && are_several.requests && !replica.is_paused_for(partition.model) {
            replica.breaker(partition.model).ask(now.saturating_add(named_ms));
            replica.asked_of.get_or_insert(partition.model);
        }
        // Another engine may have room sooner.
        let own_ms = if self.is_served_elsewhere(key, partition, now) { NAMED_MAX_MS } else { i64::MAX };
        let uncounted = self.histories.note(seq, |it| it.uncounted += 1).uncounted;
        let rest_ms = REFUSED.equal_jitter_ms(uncounted - 1, &mut self.random);
        let (own_ms, last_moment) = (named_ms.min(own_ms), self.last_moment(&held));
        let retry_at = now.saturating_add(own_ms.max(rest_ms));
        if retry_at > last_moment && now.saturating_add(own_ms) <= last_moment {
            let attempts = held.attempts.saturating_add(uncounted);
            self.give_up(held, refusal, attempts, now);
        } else {
            let mark = held.unchanged();
            self.release_lease(held, retry_at, mark, now);
        }
        if pause_ms > BUFFER_PATIENCE_MS {
            self.release_buffered(key, None, now);
        }
    }

    /// Notes a refusal with the account, and releases its buffered leases if they may not be sent now. Returns whether the account's window
    /// became smaller.
    fn hold_back_refused(&mut self, partition: QueuePartition, seq: i64, named_ms: i64, now: i64) -> bool {
        let QueuePartition { model, account } = partition;
        self.release_buffered_of(partition, now);
        let random = &mut self.random;
        let Some(state) = self.models.get_mut(&model) else { return false };
        let state = state.partition(account, now);
        let is_narrower = state.refusals.note_refusal(seq, state.held, named_ms, random, now);
        self.timers.set(Timer::Partition(partition), state.wake_at(now));
        is_narrower
    }

    /// Whether another replica takes requests for the partition's model.
    fn is_served_elsewhere(&self, key: ReplicaKey, partition: QueuePartition, now: i64) -> bool {
        let mut others = self.replicas.iter().filter(|(other, _)| **other != key);
        others.any(|(_, replica)| replica.serves(partition.model) && replica.is_usable(now))
    }

    fn is_alone_in_flight(&self, key: ReplicaKey, partition: QueuePartition) -> bool {
        let Some(replica) = self.replicas.get(&key) else { return false };
        let mut held = replica.in_flight.keys().filter_map(|seq| self.leases_held.get(seq));
        held.all(|held| held.lease.key.partition == partition)
    }

    /// The last moment at which the request can begin and still finish in time.
    fn last_moment(&self, held: &HeldLease) -> i64 {
        let QueuePartition { model, account } = held.lease.key.partition;
        let partition = self.models.get(&model).and_then(|it| it.partitions.get(&account));
        let request_ms = partition.map_or(0, |it| 2 * it.throughput.request_ms());
        held.deadline.saturating_sub(request_ms.max(DURATION_MIN_MS))
    }

    /// The attempt counts: retries the request later, or fails it if no attempt is left or none can finish in time.
    pub(super) fn count_attempt(&mut self, held: HeldLease, failure: &Failure, suspect: bool, now: i64) {
        let attempts = held.attempts.saturating_add(1);
        let uncounted = self.histories.get(held.seq()).uncounted;
        let last_moment = self.last_moment(&held);
        let failures = attempts.saturating_add(uncounted);
        let retry_at = next_attempt_at(failures, last_moment, &mut self.random, now);
        let is_last = attempts >= failure.attempts_max() || suspect && self.note_breakage(&held);
        if !suspect {
            self.histories.note(held.seq(), |it| it.harmless += 1);
        }
        let Some(retry_at) = retry_at.filter(|_| !is_last) else {
            return self.give_up(held, failure, attempts, now);
        };
        let attempt = Some(failure.attempt(now));
        self.release_lease(held, retry_at, Mark { attempt, suspect }, now);
    }

    /// The request broke its connection while it had the replica to itself, or the replica died or hung with it. Returns whether that was
    /// the last time. A restart forgets how often, but not that the request is a suspect, nor its attempts: those not known to be harmless
    /// count.
    fn note_breakage(&mut self, held: &HeldLease) -> bool {
        let QueuePartition { model, account } = held.lease.key.partition;
        self.model(model).suspects.convict(account, held.seq());
        let History { breakages, harmless, .. } = self.histories.note(held.seq(), |it| it.breakages += 1);
        let known = if held.suspect { held.attempts.saturating_add(1).saturating_sub(harmless) } else { 0 };
        breakages.max(known) >= self.settings.breakages_max
    }

    /// The engine aborted the generation: retries the request later without counting, or fails it if no attempt can finish in time.
    pub(super) fn repeat_uncounted(&mut self, held: HeldLease, failure: &Failure, now: i64) {
        let History { uncounted, .. } = self.histories.note(held.seq(), |it| it.uncounted += 1);
        let failures = held.attempts.saturating_add(uncounted);
        let last_moment = self.last_moment(&held);
        match next_attempt_at(failures, last_moment, &mut self.random, now) {
            Some(retry_at) => {
                let mark = held.unchanged();
                self.release_lease(held, retry_at, mark, now);
            }
            None => self.give_up(held, failure, failures, now),
        }
    }

    fn give_up(&mut self, held: HeldLease, failure: &Failure, attempts: u32, now: i64) {
        let mut message =
            format!("given up after {attempts} attempts; the last time, {}", failure.describe());
        message.truncate(message.floor_char_boundary(2 * FailedAttempt::MESSAGE_BYTES_MAX));
        self.fail(held, failure.code(), message, failure.attempt(now));
    }

    /// The replica was at fault, so the attempt does not count: the request returns within half a second.
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
        self.histories.forget(held.seq());
        self.out.push(SchedulerCommand::Fail {
            replica: held.replica,
            lease: held.lease,
            code,
            message,
            attempt,
        });
    }
}
