//! Cancelling one request.

use overnight_base::planted_bugs::Bug;
use overnight_base::turns::Permit;
use overnight_domain::ids::RequestId;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;

use crate::database::statements;
use crate::queue::endings::{End, Live, end_all};
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

statements! {
    FIND_LIVE = "SELECT seq, model, account, sort_key, state, ready_at, in_progress_at, ended_at FROM current_requests
        WHERE id = ? AND account = ?";
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    Unknown,
    /// By this call, or before.
    Cancelled {
        seq: i64,
    },
    /// It had completed or failed, and stays so.
    AlreadyEnded(RequestStatus),
}

/// After this, no engine's answer can settle it.
pub async fn cancel(
    store: &Store,
    account: AccountKey,
    id: RequestId,
    now: i64,
) -> Result<CancelOutcome, StoreError> {
    let turn = store.take_cancel_turn(account).await?;
    store.writer().write(CancelRequest { account, id, now, _turn: turn }).await
}

pub(crate) struct CancelRequest {
    account: AccountKey,
    id: RequestId,
    now: i64,
    /// Held until done, even if the caller leaves.
    _turn: Permit,
}

impl CancelRequest {
    async fn cancel(&self, write: &mut WriteTransaction<'_>) -> Result<CancelOutcome, StoreError> {
        loop {
            let found = write.tx.fetch(FIND_LIVE.bind(self.id).bind(self.account)).await?;
            let Some(row) = found.first() else { return Ok(CancelOutcome::Unknown) };
            let live = Live::read(row)?;
            let seq = live.seq;
            match live.state.cancel(self.now) {
                Err(refused) => return Ok(CancelOutcome::AlreadyEnded(refused.from)),
                Ok(cancelled) if cancelled == live.state => return Ok(CancelOutcome::Cancelled { seq }),
                Ok(_) if Bug::CancelLost.is_planted() && live.state.in_progress_at().is_some() => {
                    return Ok(CancelOutcome::Cancelled { seq });
                }
                // Another node may end it now: the next look shows how.
                Ok(_) => end_all(vec![live], &End::Cancelled, self.now, write).await?,
            };
        }
    }
}

impl Operation for CancelRequest {
    type Answer = CancelOutcome;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::CancelRequest;

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<CancelOutcome>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.cancel(write).await?);
        }
        Ok(answers)
    }
}
