//! Requests that outlive their completion window fail.
//!
//! Deadlines are in an index that ends do not touch. The search for overdue requests passes through it once: it remembers up to when all
//! have ended.

use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use overnight_base::planted_bugs::Bug;
use overnight_domain::requests::COMPLETION_WINDOW_MS;
use tokio::sync::OnceCell;

use crate::database::statements;
use crate::queue::endings::{End, Live, end_all};
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

statements! {
    IS_OVERDUE = "SELECT EXISTS (
        SELECT 1 FROM request_states WHERE deadline > ? AND deadline <= ? AND state < 3 /* live */) AS is_overdue";
    NEXT_DEADLINE = {
        sqlite: "SELECT min(deadline) AS deadline FROM (
            SELECT min(deadline) AS deadline FROM queue
            UNION ALL SELECT min(deadline) FROM request_states WHERE state = 0 /* gathering */) d",
        postgres: "SELECT min(deadline) AS deadline FROM (
            SELECT min(deadline) AS deadline FROM queue
            UNION ALL SELECT min(deadline) FROM request_states WHERE state = 0 /* gathering */ AND ready_at IS NOT NULL) d",
    };
    NEXT_LIVE_DEADLINE = "SELECT deadline FROM request_states WHERE deadline > ? AND state < 3 /* live */
        ORDER BY deadline LIMIT 1";
    OVERDUE = "SELECT seq, model, account, sort_key, state, ready_at, in_progress_at, ended_at, deadline FROM current_states
        WHERE deadline > ? AND deadline <= ? AND state < 3 /* live */ ORDER BY deadline, seq LIMIT ?";
}

/// How much later a request may be stored than others with later deadlines: a create takes time, and clocks of nodes differ.
const LATE_CREATE_MS: i64 = 30_000;

/// Requests stored after `now` have later deadlines.
const fn before_new(now: i64) -> i64 {
    now + COMPLETION_WINDOW_MS - LATE_CREATE_MS
}

/// Progress through the index of deadlines, in milliseconds.
#[derive(Debug)]
pub(crate) struct Passed {
    /// The first answer of [`next_deadline`].
    at_start: OnceCell<Option<i64>>,
    /// No live request has an earlier deadline.
    overdue: AtomicI64,
    ended: AtomicI64,
}

impl Default for Passed {
    fn default() -> Self {
        let [overdue, ended] = [i64::MIN; 2].map(AtomicI64::new);
        Self { at_start: OnceCell::new(), overdue, ended }
    }
}

impl Passed {
    /// As of `now`: a clock that was set back gives earlier deadlines again.
    fn by(&self, now: i64) -> i64 {
        self.overdue.load(Ordering::Acquire).min(now)
    }

    /// Up to when all requests with deadlines have ended, also in the future. Requests stored after `now` have later ones.
    fn ended_by(&self, now: i64) -> i64 {
        let ended = self.ended.load(Ordering::Acquire);
        if Bug::ExpiryByWallClock.is_planted() { ended } else { ended.min(before_new(now)) }
    }

    /// `next` is the earliest deadline of live requests at `now`.
    fn note_next(&self, next: Option<i64>, now: i64) {
        let ended = next.map_or(i64::MAX, |next| next - 1);
        self.ended.store(ended.min(before_new(now)), Ordering::Release);
    }

    /// Read on first use, from all live requests.
    async fn at_start(&self, store: &Store) -> Result<Option<i64>, StoreError> {
        self.at_start.get_or_try_init(|| next_deadline(store)).await.copied()
    }
}

/// Fails live requests whose deadline passed by `now`, earliest first, up to `limit`, each with `error_body` as its result; returns those
/// that ended, by `seq`.
pub async fn expire(
    store: &Store,
    now: i64,
    limit: u32,
    error_body: Vec<u8>,
) -> Result<Vec<i64>, StoreError> {
    let passed = store.passed().by(now);
    let expired = store.writer().write(Expire { passed, now, limit, error_body: error_body.into() }).await?;
    // The next search starts after it: a day's worth of overdue requests is passed once.
    if let Some(deadline) = expired.last_deadline {
        store.passed().overdue.fetch_max(deadline - 1, Ordering::AcqRel);
    }
    Ok(expired.seqs)
}

/// Whether a live request's deadline has passed by `now`.
pub async fn is_overdue(store: &Store, now: i64) -> Result<bool, StoreError> {
    let mut passed = store.passed().by(now);
    if passed == i64::MIN {
        passed = store.passed().at_start(store).await?.map_or(now, |next| now.min(next - 1));
        store.passed().overdue.store(passed, Ordering::Release);
    }
    let query = IS_OVERDUE.bind(passed).bind(now);
    let is_overdue: bool = store.readers().fetch_one(query).await?.get("is_overdue")?;
    if !is_overdue {
        store.passed().overdue.store(now, Ordering::Release);
    }
    Ok(is_overdue)
}

/// Of live requests, in milliseconds. Cheap if called often: ended requests are read once, except those created less than
/// [`LATE_CREATE_MS`] ago.
pub async fn earliest_deadline(store: &Store, now: i64) -> Result<Option<i64>, StoreError> {
    let passed = store.passed();
    if passed.ended.load(Ordering::Acquire) == i64::MIN {
        passed.note_next(passed.at_start(store).await?, now);
    }
    let next = NEXT_LIVE_DEADLINE.bind(passed.ended_by(now));
    let next = store.readers().fetch_optional(next).await?.map(|row| row.get("deadline")).transpose()?;
    passed.note_next(next, now);
    Ok(next)
}

/// Of live requests, in milliseconds. Reads all of them: once is enough for a start.
pub async fn next_deadline(store: &Store) -> Result<Option<i64>, StoreError> {
    store.readers().fetch_one(NEXT_DEADLINE.unbound()).await?.get("deadline")
}

pub(crate) struct Expire {
    passed: i64,
    now: i64,
    limit: u32,
    error_body: Bytes,
}

pub(crate) struct Expired {
    seqs: Vec<i64>,
    /// Of the last overdue request: no live request has an earlier one.
    last_deadline: Option<i64>,
}

impl Operation for Expire {
    type Answer = Expired;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::Expire;

    fn rows(&self) -> usize {
        self.limit as usize
    }

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<Expired>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for Job { operation, .. } in jobs {
            let Self { passed, now, limit, .. } = operation;
            let select = OVERDUE.bind(*passed).bind(*now).bind(*limit);
            let rows = write.tx.fetch(select).await?;
            let lives = rows.iter().map(Live::read).collect::<Result<_, _>>()?;
            let last_deadline = rows.last().map(|row| row.get("deadline")).transpose()?;
            let seqs = end_all(lives, &End::Failed(operation.error_body.clone()), *now, write).await?;
            answers.push(Expired { seqs, last_deadline });
        }
        Ok(answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_is_passed_up_to_the_next_deadline_and_never_what_may_still_come() {
        const NOW: i64 = 1_750_000_000_000;
        let new = NOW + COMPLETION_WINDOW_MS - LATE_CREATE_MS;
        let passed = Passed::default();
        assert_eq!((passed.by(NOW), passed.ended_by(NOW)), (i64::MIN, i64::MIN), "nothing is known");
        for (next, ended) in
            [(Some(NOW - 5), NOW - 6), (Some(NOW + 5), NOW + 4), (Some(new + 9), new), (None, new)]
        {
            passed.note_next(next, NOW);
            assert_eq!(passed.ended_by(NOW), ended, "{next:?}");
            assert_eq!(passed.ended_by(NOW + 50), ended, "time alone ends nothing");
        }
        assert_eq!(passed.ended_by(NOW - 50), new - 50, "the clock was set back");
        passed.overdue.store(NOW, Ordering::Release);
        assert_eq!([NOW - 1, NOW, NOW + 1].map(|now| passed.by(now)), [NOW - 1, NOW, NOW]);
    }
}
