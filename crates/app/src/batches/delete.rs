//! Delete Batch: the batch is marked first and can no longer be found; then its requests are deleted in chunks.

use overnight_domain::ids::BatchId;
use overnight_domain::scheduler::AccountKey;
use overnight_store::StoreError;
use overnight_store::batches::{self, BatchDeletionOutcome, DeletedBatch};

use super::NOUN;
use crate::errors::AppError;
use crate::{Services, finish};

/// Deletes an ended batch, with its requests, their bodies, metadata, results and events. Runs to completion even if the caller leaves.
/// Fails with [`AppError::NotEnded`] if requests of it wait or run.
pub async fn delete(services: &Services, account: AccountKey, id: BatchId) -> Result<(), AppError> {
    let shared = services.clone();
    finish(async move {
        match batches::mark_deleted(&shared.store, account, id).await? {
            BatchDeletionOutcome::Unknown => Err(AppError::NotFound(NOUN)),
            BatchDeletionOutcome::NotEnded => Err(AppError::NotEnded(NOUN)),
            BatchDeletionOutcome::Marked(batch) => Ok(delete_requests(&shared, batch).await?),
        }
    })
    .await
}

/// Completes deletions that a crash interrupted.
pub async fn finish_deletions(services: &Services) -> Result<(), StoreError> {
    for batch in batches::list_deleting(&services.store).await? {
        delete_requests(services, batch).await?;
    }
    Ok(())
}

/// Deletes the requests of a marked batch in chunks, and then the batch.
async fn delete_requests(services: &Services, batch: DeletedBatch) -> Result<(), StoreError> {
    while !batches::delete_chunk(&services.store, batch).await? {}
    Ok(())
}
