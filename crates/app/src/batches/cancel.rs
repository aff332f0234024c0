//! Cancel Batch: the batch is marked first, so nothing in it runs or settles any more; then its requests end in chunks.

use overnight_domain::batches::BatchStatus;
use overnight_domain::ids::BatchId;
use overnight_domain::scheduler::AccountKey;
use overnight_store::StoreError;
use overnight_store::batches::{self, CancelBatchOutcome};

use super::{NOUN, WholeBatch, get_whole};
use crate::errors::AppError;
use crate::{Services, finish};

/// Cancels a batch and its unfinished requests, and stops work on them. Idempotent. Runs to completion even if the caller leaves. Fails
/// with [`AppError::AlreadyEnded`] if the batch completed.
pub async fn cancel(services: &Services, account: AccountKey, id: BatchId) -> Result<WholeBatch, AppError> {
    let shared = services.clone();
    finish(async move {
        let now = shared.clock.now();
        match batches::cancel(&shared.store, account, id, now).await? {
            CancelBatchOutcome::Unknown => Err(AppError::NotFound(NOUN)),
            CancelBatchOutcome::AlreadyCompleted => {
                Err(AppError::AlreadyEnded { what: NOUN, status: BatchStatus::Completed.as_str() })
            }
            CancelBatchOutcome::Cancelled => Ok(()),
            CancelBatchOutcome::Marked { batch } => Ok(end_requests(&shared, batch, now).await?),
        }
    })
    .await?;
    get_whole(services, account, id).await
}

/// Completes cancellations that a crash interrupted.
pub async fn finish_cancels(services: &Services, now: i64) -> Result<(), StoreError> {
    for batch in batches::list_cancelling(&services.store).await? {
        end_requests(services, batch, now).await?;
    }
    Ok(())
}

/// Ends the live requests of a marked batch in chunks, and informs the scheduler.
async fn end_requests(services: &Services, batch: i64, now: i64) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let chunk = batches::cancel_chunk(&services.store, batch, after, now).await?;
        services.signals.ended(&chunk.ended);
        match chunk.next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}
