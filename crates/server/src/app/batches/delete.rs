//! Delete Batch: the mark first, from which moment nobody has it, then its requests in chunks.

use overnight_domain::ids::BatchId;
use overnight_domain::scheduler::AccountKey;

use super::NOUN;
use crate::app::errors::AppError;
use crate::app::{Services, finish};
use crate::store::StoreError;
use crate::store::batches::{self, BatchDeletionOutcome, DeletedBatch};

/// Deletes a batch that has ended, with its requests, their bodies, metadata, results and events. It is carried through even if the
/// caller leaves.
///
/// # Errors
///
/// [`AppError::NotFound`], and [`AppError::NotEnded`] where requests of it wait or run.
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

/// Carries through every deletion that a crash left half-way.
pub async fn finish_deletions(services: &Services) -> Result<(), StoreError> {
    for batch in batches::list_deleting(&services.store).await? {
        delete_requests(services, batch).await?;
    }
    Ok(())
}

/// Deletes the requests of a marked batch, chunk by chunk, and then the batch.
async fn delete_requests(services: &Services, batch: DeletedBatch) -> Result<(), StoreError> {
    while !batches::delete_chunk(&services.store, batch).await? {}
    Ok(())
}
