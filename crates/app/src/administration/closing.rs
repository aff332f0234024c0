use bytes::Bytes;
use overnight_domain::faults::codes;
use overnight_domain::ids::AccountId;
use overnight_wire::native::accounts::Account as Record;

use super::settings::changed;
use super::{Administrator, Made, key_of};
use crate::errors::AppError;
use crate::{Services, accounts, closing};

/// Closes an account for good. Idempotent. Fails with [`AppError::Invalid`] for the account of this call's key, so that callers do not lock
/// themselves out.
pub async fn close(
    services: &Services,
    caller: Administrator,
    id: AccountId,
    call: Option<[u8; 32]>,
) -> Result<Made<Record>, AppError> {
    let key = key_of(services, caller, &Bytes::new(), call).await?;
    if accounts::get(services, id).await?.key == caller.account {
        let message = "has the key of this call: close it with a key of another account, or with `overnight account close`";
        return Err(AppError::invalid("account_id", codes::CONFLICT, message));
    }
    changed(services, closing::close_repeatably(services, id, key).await?).await
}

/// Starts the erasure of a closed account; only its ledger entries stay. Idempotent. Fails with [`AppError::Invalid`] if the account is not
/// closed.
pub async fn erase(
    services: &Services,
    caller: Administrator,
    id: AccountId,
    call: Option<[u8; 32]>,
) -> Result<Made<Record>, AppError> {
    let key = key_of(services, caller, &Bytes::new(), call).await?;
    changed(services, closing::erase_repeatably(services, id, key).await?).await
}
