use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_store::requests::{self, CancelOutcome};

use super::{NOUN, get_record};
use crate::errors::AppError;
use crate::{Services, finish};

/// Cancels a request, and stops work on it. Idempotent. Runs to completion even if the caller leaves. Fails with [`AppError::AlreadyEnded`]
/// if it completed or failed.
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
