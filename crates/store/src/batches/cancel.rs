//! Cancelling a batch: the mark first, after which none of its requests is leased or settled, then its live requests in chunks, rows and
//! counters together. After a crash the mark is found and the chunks continue.

use overnight_domain::ids::BatchId;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;

use crate::database::statements;
use crate::queue::endings::{End, Live, end_all};
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError, row};

const CHUNK: u32 = 1_000;

statements! {
    LIST_CANCELLING = "SELECT seq FROM batches WHERE cancelling = 1";
    LOCK = {
        sqlite: "SELECT seq, in_progress_at, completed_at, cancelled_at, cancelling FROM batches
            WHERE id = ? AND account = ?",
        postgres: "SELECT seq, in_progress_at, completed_at, cancelled_at, cancelling FROM batches
            WHERE id = ? AND account = ? FOR UPDATE",
    };
    MARK = "UPDATE batches SET cancelled_at = ?, cancelling = 1 WHERE seq = ?";
    LIVE_OF_BATCH = "SELECT seq, model, account, sort_key, state, ready_at, in_progress_at, ended_at FROM current_states
        WHERE batch = ? AND batch IS NOT NULL AND seq > ? AND state < 3 /* live */ ORDER BY seq LIMIT ?";
    /// Lines that are not requests yet never become any, and count as cancelled.
    STOP_FILLING = "UPDATE batch_inputs SET state = 1 /* filled */ WHERE batch = ? AND state = 0 /* being filled */ RETURNING lines - filled AS unfilled";
    UNMARK = "UPDATE batches SET cancelling = 0 WHERE seq = ? AND cancelling = 1 RETURNING lane";
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelBatchOutcome {
    Unknown,
    /// [`cancel_chunk`] must end its requests.
    Marked {
        batch: i64,
    },
    /// Cancelled before, with all requests ended.
    Cancelled,
    /// It had completed, and stays completed.
    AlreadyCompleted,
}

pub async fn cancel(
    store: &Store,
    account: AccountKey,
    id: BatchId,
    now: i64,
) -> Result<CancelBatchOutcome, StoreError> {
    store.writer().write(CancelBatch { account, id, now }).await
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkOutcome {
    pub ended: Vec<i64>,
    /// `None` once every request of the batch has ended.
    pub next: Option<i64>,
}

/// Ends the next live requests after `after` of a marked batch.
pub async fn cancel_chunk(
    store: &Store,
    batch: i64,
    after: Option<i64>,
    now: i64,
) -> Result<ChunkOutcome, StoreError> {
    store.writer().write(CancelChunk { batch, after: after.unwrap_or(i64::MIN), now }).await
}

/// Marked batches with live requests, which a crash may have left.
pub async fn list_cancelling(store: &Store) -> Result<Vec<i64>, StoreError> {
    let rows = store.readers().fetch_all(LIST_CANCELLING.unbound()).await?;
    rows.iter().map(|row| row.get("seq")).collect()
}

pub(crate) struct CancelBatch {
    account: AccountKey,
    id: BatchId,
    now: i64,
}

impl CancelBatch {
    async fn mark(&self, write: &mut WriteTransaction<'_>) -> Result<CancelBatchOutcome, StoreError> {
        let found = write.tx.fetch(LOCK.bind(self.id).bind(self.account)).await?;
        let Some(found) = found.first() else { return Ok(CancelBatchOutcome::Unknown) };
        let batch: i64 = found.get("seq")?;
        let state = row::batch_state(found)?;
        let Ok(cancelled) = state.cancel(self.now) else { return Ok(CancelBatchOutcome::AlreadyCompleted) };
        if cancelled == state {
            let is_pending = found.get::<bool>("cancelling")?;
            return Ok(if is_pending {
                CancelBatchOutcome::Marked { batch }
            } else {
                CancelBatchOutcome::Cancelled
            });
        }
        write.tx.execute(MARK.bind(cancelled.cancelled_at()).bind(batch)).await?;
        for row in write.tx.fetch(STOP_FILLING.bind(batch)).await? {
            write.effects.cancelled_unfilled(batch, row.get("unfilled")?, self.now);
        }
        Ok(CancelBatchOutcome::Marked { batch })
    }
}

impl Operation for CancelBatch {
    type Answer = CancelBatchOutcome;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::CancelBatch;

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<CancelBatchOutcome>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.mark(write).await?);
        }
        Ok(answers)
    }
}

pub(crate) struct CancelChunk {
    batch: i64,
    after: i64,
    now: i64,
}

impl CancelChunk {
    async fn end_requests(&self, write: &mut WriteTransaction<'_>) -> Result<ChunkOutcome, StoreError> {
        let select = LIVE_OF_BATCH.bind(self.batch).bind(self.after).bind(CHUNK);
        let rows = write.tx.fetch(select).await?;
        let lives: Vec<Live> = rows.iter().map(Live::read).collect::<Result<_, _>>()?;
        let last = lives.last().map(|live| live.seq);
        let ended = end_all(lives, &End::Cancelled, self.now, write).await?;
        let is_last = rows.len() < CHUNK as usize;
        if is_last {
            for row in write.tx.fetch(UNMARK.bind(self.batch)).await? {
                write.effects.batch_ended(self.batch, EventKind::BatchCancelled, row.get("lane")?, self.now);
            }
        }
        let next = last.filter(|_| !is_last);
        Ok(ChunkOutcome { ended, next })
    }
}

impl Operation for CancelChunk {
    type Answer = ChunkOutcome;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::CancelChunk;

    fn rows(&self) -> usize {
        CHUNK as usize
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<ChunkOutcome>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.end_requests(write).await?);
        }
        Ok(answers)
    }
}
