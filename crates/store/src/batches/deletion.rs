//! Deleting ended batches with their requests: the mark first, after which no account has the batch, then its requests in chunks, the batch
//! last. After a crash the mark is found and the chunks continue.
//!
//! The mark is the number of the account with its sign turned. Every statement about batches asks for an account's, so the batch is hidden
//! from that commit on, and the index by account finds marked batches.

use overnight_base::turns::Permit;
use overnight_domain::ids::BatchId;
use overnight_domain::scheduler::AccountKey;

use crate::database::statements;
use crate::last_deleted::note_last;
use crate::outbox::deletion::delete_events;
use crate::requests::{ROWS_MAX, delete, read_chunk};
use crate::row;
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

/// Rows of its order of ends per transaction.
const ENDS_MAX: u32 = 1_024;

/// Marked batches per search.
const FOUND_MAX: u32 = 64;

statements! {
    LOCK = {
        sqlite: "SELECT seq, in_progress_at, completed_at, cancelled_at, cancelling FROM batches WHERE id = ? AND account = ?",
        postgres: "SELECT seq, in_progress_at, completed_at, cancelled_at, cancelling FROM batches WHERE id = ? AND account = ? FOR UPDATE",
    };
    MARK = "UPDATE batches SET account = -account, lane = NULL WHERE seq = ? AND account > 0";
    DELETE_EVENT = "DELETE FROM events WHERE batch = ? AND batch IS NOT NULL RETURNING seq";
    LIST_DELETING = "SELECT account, seq FROM batches WHERE account < 0 AND grouping_at IS NULL ORDER BY account, seq LIMIT ?";
    ENDED_OF_BATCH = "SELECT rs.seq, rs.account, rs.result_seq,
               512 + octet_length(r.body) + coalesce(octet_length(r.metadata), 0) + coalesce(1024 + 2 * octet_length(r.webhook), 0)
               + coalesce(octet_length(t.body), 0) + (SELECT CAST(coalesce(sum(octet_length(a.message)), 0) AS BIGINT)
                                                      FROM attempts a WHERE a.request = rs.seq) AS bytes
        FROM request_states rs JOIN requests r ON r.seq = rs.seq LEFT JOIN results t ON t.seq = rs.result_seq
        WHERE rs.batch = ? AND rs.batch IS NOT NULL ORDER BY rs.seq LIMIT ?";
    DELETE_ENDS = "DELETE FROM batch_ends WHERE (batch, ended) IN (
        SELECT batch, ended FROM batch_ends WHERE batch = ? ORDER BY ended LIMIT ?)";
    DELETE_MEMBERS = "DELETE FROM batch_members WHERE batch = ?";
    DELETE_INPUT = "DELETE FROM batch_inputs WHERE batch = ? RETURNING CAST(coalesce(octet_length(faults), 0) AS BIGINT) AS bytes";
    /// On PostgreSQL another node may delete it now: whoever deletes this row gives the bytes back.
    DELETE = "DELETE FROM batches WHERE seq = ? AND account < 0
        RETURNING 512 + coalesce(octet_length(metadata), 0) + coalesce(1024 + 2 * octet_length(webhook), 0)
            + 16 * (registered + in_progress + completed + failed + cancelled) AS bytes";
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchDeletionOutcome {
    Unknown,
    /// Some of its requests are live; it stays.
    NotEnded,
    /// It is marked, hidden from its account, and to be deleted with [`delete_chunk`].
    Marked(DeletedBatch),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletedBatch {
    pub account: AccountKey,
    pub seq: i64,
}

pub async fn mark_deleted(
    store: &Store,
    account: AccountKey,
    id: BatchId,
) -> Result<BatchDeletionOutcome, StoreError> {
    let turn = store.take_cancel_turn(account).await?;
    store.writer().write(MarkDeleted { account, id, _turn: turn }).await
}

/// Deletes some requests of a marked batch, then the batch; returns whether it is gone.
pub async fn delete_chunk(store: &Store, batch: DeletedBatch) -> Result<bool, StoreError> {
    let turn = store.take_cancel_turn(batch.account).await?;
    store.writer().write(DeleteChunk { batch, _turn: turn }).await
}

/// Marked batches that are not gone, which a crash may have left.
pub async fn list_deleting(store: &Store) -> Result<Vec<DeletedBatch>, StoreError> {
    let rows = store.readers().fetch_all(LIST_DELETING.bind(FOUND_MAX)).await?;
    let read = |account: i64, seq| DeletedBatch { account: AccountKey(-account), seq };
    rows.iter().map(|row| Ok(read(row.get("account")?, row.get("seq")?))).collect()
}

struct MarkDeleted {
    account: AccountKey,
    id: BatchId,
    /// Held until done, even if the caller leaves.
    _turn: Permit,
}

impl MarkDeleted {
    async fn mark(&self, write: &mut WriteTransaction<'_>) -> Result<BatchDeletionOutcome, StoreError> {
        let found = write.tx.fetch(LOCK.bind(self.id).bind(self.account)).await?;
        let Some(found) = found.first() else { return Ok(BatchDeletionOutcome::Unknown) };
        let state = row::batch_state(found)?;
        let is_cancelled = state.cancelled_at().is_some() && !found.get::<bool>("cancelling")?;
        if state.completed_at().is_none() && !is_cancelled {
            return Ok(BatchDeletionOutcome::NotEnded);
        }
        let batch = DeletedBatch { account: self.account, seq: found.get("seq")? };
        write.tx.execute(MARK.bind(batch.seq)).await?;
        let events = write.tx.fetch(DELETE_EVENT.bind(batch.seq)).await?;
        delete_events(&events, &mut write.tx).await?;
        Ok(BatchDeletionOutcome::Marked(batch))
    }
}

impl Operation for MarkDeleted {
    type Answer = BatchDeletionOutcome;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::DeleteBatch;

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<BatchDeletionOutcome>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.mark(write).await?);
        }
        Ok(answers)
    }
}

struct DeleteChunk {
    batch: DeletedBatch,
    /// Held until done, even if the caller leaves.
    _turn: Permit,
}

impl DeleteChunk {
    async fn delete(&self, write: &mut WriteTransaction<'_>) -> Result<bool, StoreError> {
        let rows = write.tx.fetch(ENDED_OF_BATCH.bind(self.batch.seq).bind(ROWS_MAX)).await?;
        let found = read_chunk(&rows)?;
        if !found.is_empty() {
            delete(found, write).await?;
            return Ok(false);
        }
        delete_row(self.batch, write).await
    }
}

impl Operation for DeleteChunk {
    type Answer = bool;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::DeleteBatchChunk;

    fn rows(&self) -> usize {
        ROWS_MAX as usize
    }

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<bool>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.delete(write).await?);
        }
        Ok(answers)
    }
}

/// Deletes a hidden batch without requests; returns whether it is gone.
pub(super) async fn delete_row(
    batch: DeletedBatch,
    write: &mut WriteTransaction<'_>,
) -> Result<bool, StoreError> {
    let DeletedBatch { account, seq } = batch;
    if write.tx.execute(DELETE_ENDS.bind(seq).bind(ENDS_MAX)).await? == u64::from(ENDS_MAX) {
        return Ok(false);
    }
    write.tx.execute(DELETE_MEMBERS.bind(seq)).await?;
    let inputs = write.tx.fetch(DELETE_INPUT.bind(seq)).await?;
    let batches = write.tx.fetch(DELETE.bind(seq)).await?;
    for row in inputs.iter().chain(&batches) {
        write.effects.ledger.store_bytes(account.0, -row.get::<i64>("bytes")?);
    }
    if !batches.is_empty() {
        note_last("batches", seq, &mut write.tx).await?;
    }
    Ok(true)
}
