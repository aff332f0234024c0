//! Accounts, their quotas and their spending.

use bytes::Bytes;
use overnight_domain::ids::{AccountId, AccountKind};
use overnight_domain::money::Credits;
use overnight_domain::quotas::{Quota, Quotas};
use overnight_store::idempotency_keys::{Guarded, Once};
use overnight_store::identity::accounts as kept;
use overnight_store::ledger::spend;
use overnight_wire::native::accounts::Account as Record;
use overnight_wire::native::administration::Totals;

use super::{Administrator, Made, PAGE_MAX, Page, bodies, key_of};
use crate::accounts::{self, Start, quotas};
use crate::errors::AppError;
use crate::{Services, idempotency};

/// Creates an account from the JSON text of the call's body.
pub async fn create(
    services: &Services,
    caller: Administrator,
    body: &Bytes,
    call: Option<[u8; 32]>,
) -> Result<Made<Record>, AppError> {
    let key = key_of(services, caller, body, call).await?;
    let (name, is_activated) = bodies::read(body, &["name", "payments_activated"], |members| {
        (members.required_text("name"), members.flag("payments_activated"))
    })?;
    let account = accounts::draft(services, &name, Start { is_activated, credits: Credits::ZERO })?;
    let once = key.map(|key| Once { key, response: account.id.to_string().into() });
    let (account, is_repeat) =
        match kept::insert_once(&services.store, caller.account, &account, once).await? {
            Guarded::Done(account) => (account, false),
            Guarded::Recalled(recalled) => {
                let id = idempotency::made_before::<AccountKind>(recalled)?;
                (accounts::get(services, id).await?, true)
            }
        };
    Ok(Made { made: accounts::record(services, &account).await?, is_repeat })
}

/// A page of accounts after the one with identifier `after`, oldest first; at most `limit` and [`PAGE_MAX`].
pub async fn list(
    services: &Services,
    after: Option<AccountId>,
    limit: u32,
) -> Result<Page<Record>, AppError> {
    let after = match after {
        Some(after) => accounts::get(services, after).await?.key.0,
        None => i64::MIN,
    };
    let limit = limit.min(PAGE_MAX);
    // One row more shows whether there is a next page.
    let mut found = kept::list_page(&services.store, after, limit + 1).await?;
    let has_more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next = found.last().filter(|_| has_more).map(|account| account.id.to_string());
    let mut rows = Vec::with_capacity(found.len());
    for account in found {
        rows.push(accounts::record(services, &account).await?);
    }
    Ok(Page { rows, next })
}

pub async fn get(services: &Services, id: AccountId) -> Result<Record, AppError> {
    accounts::record(services, &accounts::get(services, id).await?).await
}

/// Activates an account's payments. Idempotent.
pub async fn activate(services: &Services, id: AccountId) -> Result<Record, AppError> {
    accounts::record(services, &accounts::activate(services, id).await?).await
}

/// Suspends an account. Idempotent. Keys with the scope `admin` keep administrating, even those of this account.
pub async fn suspend(services: &Services, id: AccountId) -> Result<Record, AppError> {
    accounts::record(services, &accounts::suspend(services, id).await?).await
}

/// Ends a suspension. Idempotent.
pub async fn resume(services: &Services, id: AccountId) -> Result<Record, AppError> {
    accounts::record(services, &accounts::resume(services, id).await?).await
}

/// Sets an account's quotas from the JSON text of the call's body. Members that are absent keep their value.
pub async fn set_limits(services: &Services, id: AccountId, body: &Bytes) -> Result<Record, AppError> {
    const FIELDS: [(&str, Quota); 4] = [
        ("stored_bytes", Quota::StoredBytes),
        ("live_requests", Quota::LiveRequests),
        ("requests_per_second", Quota::RequestsPerSecond),
        ("tokens_per_day", Quota::TokensPerDay),
    ];
    let changes: Vec<(Quota, Option<i64>)> = bodies::read(body, &FIELDS.map(|(name, _)| name), |members| {
        let limit = |(name, quota)| members.limit(name, Quotas::UNLIMITED).map(|limit| (quota, limit));
        FIELDS.into_iter().filter_map(limit).collect()
    })?;
    let account = match changes.as_slice() {
        [] => accounts::get(services, id).await?,
        changes => quotas::set(services, id, changes).await?,
    };
    accounts::record(services, &account).await
}

/// The account's available, held and spent credits.
pub async fn totals(services: &Services, id: AccountId) -> Result<Totals, AppError> {
    let account = accounts::get(services, id).await?;
    let today = spend::day_of(services.clock.now());
    let spent = spend::sum(&services.store, account.key, today).await?;
    Ok(Totals {
        account: account.id.to_string(),
        balance: account.balance.to_string(),
        held: account.held.to_string(),
        available: account.available().to_string(),
        spent: spent.amount.to_string(),
        spent_today: spent.amount_of_day.to_string(),
        requests: spent.requests,
        prompt_tokens: spent.prompt_tokens,
        completion_tokens: spent.completion_tokens,
    })
}
