//! Cancel Batch: the mark first, from which moment nothing in it runs or settles, then its requests in chunks.

use overnight_domain::batches::BatchStatus;
use overnight_domain::ids::BatchId;
use overnight_domain::scheduler::AccountKey;

use super::{NOUN, WholeBatch, get_whole};
use crate::app::errors::AppError;
use crate::app::{Services, finish};
use crate::store::StoreError;
use crate::store::batches::{self, CancelBatchOutcome};

/// Cancels a batch and all of its requests that have not ended, unless it was cancelled before, and has work under
/// way on them stopped. It is carried through even if the caller leaves.
///
/// # Errors
///
/// [`AppError::NotFound`], and [`AppError::AlreadyEnded`] where it completed.
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

/// Carries through every cancel that a crash left half-way.
pub async fn finish_cancels(services: &Services, now: i64) -> Result<(), StoreError> {
    for batch in batches::list_cancelling(&services.store).await? {
        end_requests(services, batch, now).await?;
    }
    Ok(())
}

/// Ends the live requests of a marked batch, chunk by chunk, and tells the scheduler.
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
