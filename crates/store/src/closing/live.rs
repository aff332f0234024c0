//! Ending the live requests and batches of a closed account.

use overnight_domain::ids::BatchId;
use overnight_domain::scheduler::AccountKey;

use crate::database::statements;
use crate::queue::endings::{End, Live, end_all};
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

/// Requests examined per transaction.
const CHUNK: u32 = 1_000;
const BATCHES_MAX: u32 = 64;

statements! {
    LIST_UNFINISHED = "SELECT id FROM batches WHERE account = ? AND completed_at IS NULL AND cancelled_at IS NULL LIMIT ?";
    /// Includes ended ones, so that the number of rows passed is bounded.
    NEXT_OF_ACCOUNT = "SELECT seq, model, account, sort_key, state, ready_at, in_progress_at, ended_at FROM current_states
        WHERE account = ? AND seq > ? ORDER BY seq LIMIT ?";
}

/// Some of the account's live batches.
pub async fn list_unfinished_batches(store: &Store, account: AccountKey) -> Result<Vec<BatchId>, StoreError> {
    let rows = store.readers().fetch_all(LIST_UNFINISHED.bind(account).bind(BATCHES_MAX)).await?;
    rows.iter().map(|row| row.get("id")).collect()
}

/// Cancels the live ones among the next requests after row `after`, and releases their holds; returns those it ended, and where the next
/// chunk starts if there may be one.
pub async fn cancel_chunk(
    store: &Store,
    account: AccountKey,
    after: i64,
    now: i64,
) -> Result<(Vec<i64>, Option<i64>), StoreError> {
    store.writer().write(CancelAccountChunk { account, after, now }).await
}

pub(crate) struct CancelAccountChunk {
    account: AccountKey,
    after: i64,
    now: i64,
}

impl CancelAccountChunk {
    async fn end_requests(
        &self,
        write: &mut WriteTransaction<'_>,
    ) -> Result<(Vec<i64>, Option<i64>), StoreError> {
        let rows = write.tx.fetch(NEXT_OF_ACCOUNT.bind(self.account).bind(self.after).bind(CHUNK)).await?;
        let mut lives: Vec<Live> = rows.iter().map(Live::read).collect::<Result<_, _>>()?;
        let last = lives.last().map(|live| live.seq).filter(|_| rows.len() == CHUNK as usize);
        lives.retain(|live| live.state.ended_at().is_none());
        Ok((end_all(lives, &End::Cancelled, self.now, write).await?, last))
    }
}

impl Operation for CancelAccountChunk {
    type Answer = (Vec<i64>, Option<i64>);
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::CancelAccountChunk;

    fn rows(&self) -> usize {
        CHUNK as usize
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<Self::Answer>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.end_requests(write).await?);
        }
        Ok(answers)
    }
}
