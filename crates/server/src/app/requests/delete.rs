//! Delete Request.

use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::AccountKey;

use super::NOUN;
use crate::app::errors::AppError;
use crate::app::{Services, finish};
use crate::store::requests::{self, DeletionOutcome};

/// Deletes a request that has ended, with its body, metadata, result and events. It is carried through even if the caller leaves.
///
/// # Errors
///
/// [`AppError::NotFound`], and [`AppError::NotEnded`] where it waits or runs.
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
