//! Cancelling one request.

use overnight_domain::ids::RequestId;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;

use crate::store::endings::{End, Live, end_all, live_columns};
use crate::store::database::sql;
use crate::store::writer::{Job, Lane, Operation, Unit};
use crate::store::{Store, StoreError, row};

/// What became of a cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    /// The account has no such request.
    Unknown,
    /// It is cancelled: by this call, or before.
    Cancelled {
        /// The request.
        seq: i64,
    },
    /// It had completed or failed, and stays so.
    AlreadyEnded(RequestStatus),
}

/// Cancels a request of `account`. From then on no engine's answer can settle it.
pub async fn cancel(
    store: &Store,
    account: AccountKey,
    id: RequestId,
    now: i64,
) -> Result<CancelOutcome, StoreError> {
    store.writer().write(CancelRequest { account, id, now }).await
}

pub(in crate::store) struct CancelRequest {
    account: AccountKey,
    id: RequestId,
    now: i64,
}

impl CancelRequest {
    async fn cancel(&self, unit: &mut Unit<'_>) -> Result<CancelOutcome, StoreError> {
        let text = concat!(
            "SELECT ",
            live_columns!(),
            " FROM requests r JOIN progress p ON p.seq = r.seq",
            row::queue_join!(),
            "WHERE r.id = ? AND r.account = ?"
        );
        let select = || sql(text).bind(self.id.to_bytes()).bind(self.account.0);
        loop {
            let found = unit.tx.fetch(select()).await?;
            let Some(row) = found.first() else { return Ok(CancelOutcome::Unknown) };
            let live = Live::read(row)?;
            let seq = live.seq;
            match live.state.cancel(self.now) {
                Err(refused) => return Ok(CancelOutcome::AlreadyEnded(refused.from)),
                Ok(cancelled) if cancelled == live.state => return Ok(CancelOutcome::Cancelled { seq }),
                // Another node may end it in this moment: then the next look tells how.
                Ok(_) => end_all(vec![live], &End::Cancelled, self.now, unit).await?,
            };
        }
    }
}

impl Operation for CancelRequest {
    type Answer = CancelOutcome;
    const LANE: Lane = Lane::Control;

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<CancelOutcome>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.cancel(unit).await?);
        }
        Ok(answers)
    }
}
