//! The use and limits of quotas.

use overnight_domain::ids::AccountId;
use overnight_domain::quotas::{Quota, Usage};
use overnight_store::identity::accounts::{self, Account};
use overnight_store::ledger::spend;

use crate::Services;
use crate::errors::AppError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaStanding {
    pub quota: Quota,
    /// `None` for a rate.
    pub used: Option<i64>,
    /// `None` if there is no limit.
    pub limit: Option<i64>,
}

/// The use and limit of every quota.
pub async fn list(
    services: &Services,
    account: &Account,
) -> Result<[QuotaStanding; Quota::ALL.len()], AppError> {
    let applied = account.quotas.or(&services.store.quotas());
    let Usage { stored_bytes, live_requests, tokens_today } = usage(services, account).await?;
    Ok(Quota::ALL.map(|quota| {
        let used = match quota {
            Quota::StoredBytes => Some(stored_bytes),
            Quota::LiveRequests => Some(live_requests),
            Quota::RequestsPerSecond => None,
            Quota::TokensPerDay => Some(tokens_today),
        };
        QuotaStanding { quota, used, limit: applied.get(quota) }
    }))
}

async fn usage(services: &Services, account: &Account) -> Result<Usage, AppError> {
    let day = spend::day_of(services.clock.now());
    let tokens_today = spend::tokens_of_day(&services.store, account.key, day).await?;
    let Account { stored_bytes, live_requests, .. } = *account;
    Ok(Usage { stored_bytes, live_requests, tokens_today })
}

/// Fails with [`AppError::QuotaExceeded`] if the account may not create this many requests with `bytes` in total now.
pub(crate) async fn check(
    services: &Services,
    account: &Account,
    requests: i64,
    bytes: i64,
) -> Result<(), AppError> {
    let applied = account.quotas.or(&services.store.quotas());
    let usage = usage(services, account).await?;
    Ok(usage.check(requests, bytes, &applied, services.clock.now())?)
}

/// Sets some quotas of an account: a limit, [`overnight_domain::quotas::Quotas::UNLIMITED`], or `None` for that of the settings. Others
/// keep their value. Every process applies them within a second. Fails with [`AppError::Invalid`] if the account is closed.
pub async fn set(
    services: &Services,
    id: AccountId,
    changes: &[(Quota, Option<i64>)],
) -> Result<Account, AppError> {
    let set = accounts::set_quotas(&services.store, id, changes.to_vec(), services.clock.now()).await?;
    services.api_key_cache.distrust();
    set.ok_or(AppError::NotFound("account"))
}
