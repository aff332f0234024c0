//! What accounts use, and may use.

use overnight_domain::ids::AccountId;
use overnight_domain::quotas::{Quota, Usage};

use super::Services;
use super::errors::AppError;
use crate::store::identity::accounts::{self, Account};
use crate::store::ledger::spend;

/// How an account stands with a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaStanding {
    pub quota: Quota,
    /// What it uses; `None` of a rate.
    pub used: Option<i64>,
    /// What it may use; `None` where there is no limit.
    pub limit: Option<i64>,
}

/// How an account stands with every quota.
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

/// Whether an account may create so many requests, of `bytes` together, at this moment.
///
/// # Errors
///
/// [`AppError::QuotaExceeded`] where it may not.
pub(super) async fn check(
    services: &Services,
    account: &Account,
    requests: i64,
    bytes: i64,
) -> Result<(), AppError> {
    let applied = account.quotas.or(&services.store.quotas());
    let usage = usage(services, account).await?;
    Ok(usage.check(requests, bytes, &applied, services.clock.now())?)
}

/// Sets some quotas of an account's own, each felt in every process within a second: a limit, [`overnight_domain::quotas::Quotas::UNLIMITED`], or `None` for
/// that of the settings. The others stay.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account, and [`AppError::Invalid`] where it is closed.
pub async fn set(
    services: &Services,
    id: AccountId,
    changes: &[(Quota, Option<i64>)],
) -> Result<Account, AppError> {
    let set = accounts::set_quotas(&services.store, id, changes.to_vec(), services.clock.now()).await?;
    services.api_key_cache.distrust();
    set.ok_or(AppError::NotFound("account"))
}
