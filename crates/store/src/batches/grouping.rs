//! Adds requests to a new batch, and releases them if it cannot be created.

use std::ops::RangeInclusive;

use overnight_base::turns::Permit;
use overnight_domain::batches::Counters;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;

use super::deletion::{DeletedBatch, delete_row};
use crate::database::{Value, statements};
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError, row};

/// Requests that one write releases.
const LEAVE_MAX: usize = 512;

/// Left batches per search.
const FOUND_MAX: u32 = 64;

statements! {
    /// The queue precedes the states: every node locks in this order. OFFSET 0 makes PostgreSQL look each row of a list up; otherwise it may
    /// join the list last.
    JOIN_IN_QUEUE over [Integer] = {
        sqlite: "UPDATE queue SET batch = ?1 WHERE batch IS NULL AND (model, account, sort_key, seq) IN (
            SELECT rs.model, rs.account, rs.sort_key, rs.seq FROM request_states rs
            WHERE rs.seq = ?3 AND rs.account = ?2 AND rs.state = 1 /* queued */) RETURNING in_progress_at",
        postgres: "UPDATE queue SET batch = $1 FROM (SELECT rs.* FROM pg_catalog.unnest($3::bigint[]) AS j(value)
            CROSS JOIN LATERAL (SELECT model, account, sort_key, seq FROM request_states
                WHERE seq = j.value AND account + 0 = $2 AND state = 1 /* queued */ OFFSET 0) rs) rs
            WHERE queue.model = rs.model AND queue.account = rs.account AND queue.sort_key = rs.sort_key AND queue.seq = rs.seq
                AND queue.batch IS NULL RETURNING queue.in_progress_at",
    };
    JOIN over [Integer] = {
        sqlite: "UPDATE request_states SET batch = ?1 WHERE seq = ?3 AND account = ?2 AND batch IS NULL RETURNING state",
        postgres: "UPDATE request_states SET batch = $1 WHERE seq = ANY ($3::bigint[]) AND account + 0 = $2 AND batch + 0 IS NULL RETURNING state",
    };
    LEAVE_QUEUE over [Integer] = {
        sqlite: "UPDATE queue SET batch = NULL WHERE batch = ?1 AND (model, account, sort_key, seq) IN (
            SELECT rs.model, rs.account, rs.sort_key, rs.seq FROM request_states rs WHERE rs.seq = ?2 AND rs.state = 1 /* queued */)",
        postgres: "UPDATE queue SET batch = NULL FROM (SELECT rs.* FROM pg_catalog.unnest($2::bigint[]) AS j(value)
            CROSS JOIN LATERAL (SELECT model, account, sort_key, seq FROM request_states
                WHERE seq = j.value AND state = 1 /* queued */ OFFSET 0) rs) rs
            WHERE queue.model = rs.model AND queue.account = rs.account AND queue.sort_key = rs.sort_key AND queue.seq = rs.seq
                AND queue.batch = $1",
    };
    LEAVE over [Integer] = {
        sqlite: "UPDATE request_states SET batch = NULL WHERE seq = ?2 AND batch = ?1",
        postgres: "UPDATE request_states SET batch = NULL WHERE seq = ANY ($2::bigint[]) AND batch + 0 = $1",
    };
    LIST_JOINED = "SELECT seq FROM request_states WHERE batch = ? AND batch IS NOT NULL ORDER BY seq LIMIT ?";
    /// No piece is added after this.
    GIVE_UP = "UPDATE batches SET grouping_at = 0 WHERE seq = ? AND grouping_at > 0 AND grouping_at NOT BETWEEN ? AND ?";
    IS_GIVEN_UP = "SELECT seq FROM batches WHERE seq = ? AND grouping_at = 0";
    LIST_LEFT = "SELECT account, seq FROM batches WHERE account < 0 AND grouping_at NOT BETWEEN ? AND ? ORDER BY account, seq LIMIT ?";
}

/// Adds the requests that are the account's and in no batch, and counts them. Their states stay the same until
/// the transaction ends.
pub(super) async fn join(
    batch: i64,
    account: AccountKey,
    seqs: &[i64],
    write: &mut WriteTransaction<'_>,
) -> Result<Counters, StoreError> {
    let list = || seqs.iter().copied().map(Value::from).collect::<Vec<_>>();
    let by = || [batch.into(), account.into()];
    let mut queued = write.tx.fetch(JOIN_IN_QUEUE.over(by(), list())).await?;
    let rows = write.tx.fetch(JOIN.over(by(), list())).await?;
    let mut counters = Counters::default();
    let mut in_queue = 0;
    for row in &rows {
        let state: i64 = row.get("state")?;
        in_queue += usize::from(state == row::QUEUED);
        *counters.of(row::status(state)?) += 1;
    }
    if queued.len() < in_queue {
        // A release queued them after the first pass.
        queued.extend(write.tx.fetch(JOIN_IN_QUEUE.over(by(), list())).await?);
    }
    for row in &queued {
        if row.get::<Option<i64>>("in_progress_at")?.is_some() {
            counters.shift(RequestStatus::Registered, RequestStatus::InProgress, 1);
        }
    }
    Ok(counters)
}

/// Takes the requests out of the batch again.
pub(super) async fn leave(
    batch: i64,
    seqs: &[i64],
    write: &mut WriteTransaction<'_>,
) -> Result<(), StoreError> {
    let list = || seqs.iter().copied().map(Value::from).collect::<Vec<_>>();
    write.tx.execute(LEAVE_QUEUE.over([batch.into()], list())).await?;
    write.tx.execute(LEAVE.over([batch.into()], list())).await?;
    // A release may have queued some after the first pass.
    write.tx.execute(LEAVE_QUEUE.over([batch.into()], list())).await?;
    Ok(())
}

/// Deletes a batch that is being created, unless a piece was added at a time in `under_way`, and releases its requests.
pub(super) async fn take_apart(
    store: &Store,
    batch: DeletedBatch,
    under_way: RangeInclusive<i64>,
) -> Result<(), StoreError> {
    loop {
        let turn = store.take_cancel_turn(batch.account).await?;
        let take_apart = TakeApart { batch, under_way: under_way.clone(), _turn: turn };
        if store.writer().write(take_apart).await? {
            return Ok(());
        }
    }
}

/// Deletes hidden batches unless a piece was added to them at a time in `under_way`, in milliseconds: the process that was creating the
/// others has ended. If one fails, goes on with the next, and returns the first error.
pub async fn take_apart_left(store: &Store, under_way: RangeInclusive<i64>) -> Result<(), StoreError> {
    let list = LIST_LEFT.bind(*under_way.start()).bind(*under_way.end()).bind(FOUND_MAX);
    let mut outcome = Ok(());
    for row in store.readers().fetch_all(list).await? {
        let batch = DeletedBatch { account: AccountKey(-row.get::<i64>("account")?), seq: row.get("seq")? };
        outcome = outcome.and(take_apart(store, batch, under_way.clone()).await);
    }
    outcome
}

struct TakeApart {
    batch: DeletedBatch,
    /// Not if a piece was added at such a time.
    under_way: RangeInclusive<i64>,
    /// Held until done, even if the caller leaves.
    _turn: Permit,
}

impl TakeApart {
    /// Returns whether this is the end: it is gone, or visible, or another process adds pieces.
    async fn step(&self, write: &mut WriteTransaction<'_>) -> Result<bool, StoreError> {
        let DeletedBatch { seq, .. } = self.batch;
        let give_up = GIVE_UP.bind(seq).bind(*self.under_way.start()).bind(*self.under_way.end());
        if write.tx.execute(give_up).await? > 0 {
            return Ok(false);
        }
        if write.tx.fetch(IS_GIVEN_UP.bind(seq)).await?.is_empty() {
            return Ok(true);
        }
        let rows = write.tx.fetch(LIST_JOINED.bind(seq).bind(LEAVE_MAX as i64)).await?;
        let seqs = rows.iter().map(|row| row.get("seq")).collect::<Result<Vec<i64>, _>>()?;
        leave(seq, &seqs, write).await?;
        if !seqs.is_empty() {
            return Ok(false);
        }
        // Before the batch that they count in is gone.
        write.effects.apply_batch_counters(&mut write.tx).await?;
        delete_row(self.batch, write).await
    }
}

impl Operation for TakeApart {
    type Answer = bool;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::TakeBatchApart;

    fn rows(&self) -> usize {
        LEAVE_MAX
    }

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<bool>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.step(write).await?);
        }
        Ok(answers)
    }
}
