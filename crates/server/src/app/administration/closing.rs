//! The end of an account.

use bytes::Bytes;
use overnight_domain::faults::codes;
use overnight_domain::ids::AccountId;
use overnight_wire::native::accounts::Account as Record;

use super::settings::changed;
use super::{Administrator, Made, key_of};
use crate::app::errors::AppError;
use crate::app::{Services, accounts, closing};

/// Closes an account for good. A second time changes nothing.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account; [`AppError::Invalid`] for the account of the key of this very call: whoever calls is not to
/// be locked out by mistake; [`AppError::IdempotencyKeyReused`].
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

/// Has an account that is closed erased, all but the entries of its ledger. A second time changes nothing.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account; [`AppError::Invalid`] where it is not closed; [`AppError::IdempotencyKeyReused`].
pub async fn erase(
    services: &Services,
    caller: Administrator,
    id: AccountId,
    call: Option<[u8; 32]>,
) -> Result<Made<Record>, AppError> {
    let key = key_of(services, caller, &Bytes::new(), call).await?;
    changed(services, closing::erase_repeatably(services, id, key).await?).await
}
