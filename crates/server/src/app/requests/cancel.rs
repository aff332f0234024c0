//! Cancel Request.

use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestRecord;
use overnight_domain::scheduler::AccountKey;

use super::{NOUN, get_record};
use crate::app::errors::AppError;
use crate::app::{Services, finish};
use crate::store::requests::{self, CancelOutcome};

/// Cancels a request, unless it was cancelled before, and has work under way on it stopped. It is carried through even
/// if the caller leaves.
///
/// # Errors
///
/// [`AppError::NotFound`], and [`AppError::AlreadyEnded`] where it completed or failed.
pub async fn cancel(
    services: &Services,
    account: AccountKey,
    id: RequestId,
) -> Result<RequestRecord, AppError> {
    let shared = services.clone();
    finish(async move {
        let outcome = requests::cancel(&shared.store, account, id, shared.clock.now()).await?;
        match outcome {
            CancelOutcome::Unknown => Err(AppError::NotFound(NOUN)),
            CancelOutcome::AlreadyEnded(status) => {
                Err(AppError::AlreadyEnded { what: NOUN, status: status.as_str() })
            }
            CancelOutcome::Cancelled { seq } => {
                shared.signals.ended(&[seq]);
                Ok(())
            }
        }
    })
    .await?;
    get_record(services, account, id).await
}
