use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::AccountKey;
use overnight_store::requests::{self, DeletionOutcome};

use super::NOUN;
use crate::errors::AppError;
use crate::{Services, finish};

/// Deletes an ended request, with its body, metadata, result and events. Runs to completion even if the caller leaves. Fails with
/// [`AppError::NotEnded`] if it waits or runs.
pub async fn delete(services: &Services, account: AccountKey, id: RequestId) -> Result<(), AppError> {
    let store = services.store.clone();
    finish(async move {
        match requests::delete_request(&store, account, id).await? {
            DeletionOutcome::Unknown => Err(AppError::NotFound(NOUN)),
            DeletionOutcome::NotEnded => Err(AppError::NotEnded(NOUN)),
            DeletionOutcome::Deleted => Ok(()),
        }
    })
    .await
}
