//! Accounts: who requests, batches and keys belong to.

use overnight_domain::ids::AccountId;

use super::errors::AppError;
use super::{Services, names};
use crate::store::accounts::{self, Account};

/// Makes an account, which every process sees once this returns.
///
/// # Errors
///
/// [`AppError::Invalid`] for a name that cannot be.
pub async fn create(services: &Services, name: &str) -> Result<Account, AppError> {
    names::check(name)?;
    let now = services.clock.now();
    Ok(accounts::insert(&services.store, services.ids.next(now), name, now).await?)
}

/// The account with this identifier.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is none.
pub async fn get(services: &Services, id: AccountId) -> Result<Account, AppError> {
    accounts::find(&services.store, id).await?.ok_or(AppError::NotFound("account"))
}

/// Every account, oldest first.
///
/// # Errors
///
/// Only what the store could not do.
pub async fn list(services: &Services) -> Result<Vec<Account>, AppError> {
    Ok(accounts::list(&services.store).await?)
}
