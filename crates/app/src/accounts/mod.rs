//! Accounts own requests, batches, keys and credits.

pub mod activity;
pub mod low_credits;
pub mod members;
pub mod monthly_grants;
pub mod overview;
pub mod quotas;

use std::ops::RangeInclusive;

use overnight_config::Millis;
use overnight_domain::faults::codes;
use overnight_domain::ids::{AccountId, GrantKind};
use overnight_domain::money::{Credits, EntryKind};
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::signature::SigningSecret;
use overnight_store::idempotency_keys::{Guarded, IdempotencyKey, Once};
use overnight_wire::native::accounts::{
    Account as Record, AccountQuotas, LowCredits as LowCreditsRecord, QuotaUse,
};

use self::quotas::QuotaStanding;
use super::errors::AppError;
use super::{Services, idempotency, names};
pub use overnight_store::identity::accounts::Account;
use overnight_store::identity::accounts::{self, LowCredits, NewAccount};
pub use overnight_store::ledger::Entry;
use overnight_store::ledger::spend;
pub use overnight_store::ledger::spend::SpendRecord;
use overnight_store::ledger::{self, NewEntry, Posting};
use overnight_store::lists::ListPage;
use overnight_store::requests;
pub use overnight_store::requests::FOR_EVER;

/// The range of `retention`, in milliseconds, as in the settings; "for ever" is separate.
const RETENTIONS: RangeInclusive<i64> = 86_400_000..=3_650 * 86_400_000;

/// Creates an account without credits and with inactive payments; every process sees it once this returns.
pub async fn create(services: &Services, name: &str) -> Result<Account, AppError> {
    let account = draft(services, name, Start { is_activated: false, credits: Credits::ZERO })?;
    Ok(accounts::insert(&services.store, &account).await?)
}

/// The initial state of an account.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) is_activated: bool,
    pub(super) credits: Credits,
}

/// An account that is not stored yet.
pub(super) fn draft(services: &Services, name: &str, start: Start) -> Result<NewAccount, AppError> {
    names::check("name", name)?;
    let now = services.clock.now();
    let (id, name) = (services.ids.next(now), name.to_owned());
    let webhook_secret = SigningSecret::new(services.ids.random());
    let Start { is_activated, credits } = start;
    Ok(NewAccount { id, name, created_at: now, is_activated, credits, webhook_secret })
}

pub async fn get(services: &Services, id: AccountId) -> Result<Account, AppError> {
    accounts::find(&services.store, id).await?.ok_or(AppError::NotFound("account"))
}

/// The account's record for the API and the operator's commands.
pub async fn record(services: &Services, account: &Account) -> Result<Record, AppError> {
    let [stored_bytes, live_requests, requests_per_second, tokens_per_day] = quotas::list(services, account)
        .await?
        .map(|QuotaStanding { used, limit, .. }| QuotaUse { used, limit });
    Ok(Record {
        id: account.id.to_string(),
        name: account.name.clone(),
        created_at: account.created_at.div_euclid(1_000),
        balance: account.balance.to_string(),
        held: account.held.to_string(),
        available: account.available().to_string(),
        payments_activated: account.payments_activated_at.is_some(),
        suspended: account.suspended_at.is_some(),
        closed: account.closed_at.is_some(),
        erased: account.erased_at.is_some(),
        retention_seconds: retention_of(services, account).map(|retention| retention / 1_000),
        monthly_credits: account.monthly_credits.map(|amount| amount.to_string()),
        low_credits: account.low_credits.as_ref().map(|LowCredits { threshold, webhook }| LowCreditsRecord {
            threshold: threshold.to_string(),
            webhook: webhook.clone(),
        }),
        quotas: AccountQuotas { stored_bytes, live_requests, requests_per_second, tokens_per_day },
    })
}

/// The retention of an account's ended requests, in milliseconds; `None` for ever.
fn retention_of(services: &Services, account: &Account) -> Option<i64> {
    let default = services.config().retention.map(|Millis(retention)| retention);
    account.retention_ms.or(default).filter(|retention| *retention != FOR_EVER)
}

pub async fn get_own(services: &Services, key: AccountKey) -> Result<Account, AppError> {
    Ok(accounts::get(&services.store, key).await?)
}

pub async fn list(services: &Services) -> Result<Vec<Account>, AppError> {
    Ok(accounts::list(&services.store).await?)
}

/// Activates an account's payments: its keys work once this returns. Idempotent.
pub async fn activate(services: &Services, id: AccountId) -> Result<Account, AppError> {
    let activated = accounts::activate(&services.store, id, services.clock.now()).await?;
    activated.ok_or(AppError::NotFound("account"))
}

/// Suspends an account: its keys and members can change nothing, immediately in this process and within a second in others. Earlier
/// requests still run and are charged, and can be read. Idempotent. Fails with [`AppError::Invalid`] if the account is closed.
pub async fn suspend(services: &Services, id: AccountId) -> Result<Account, AppError> {
    set_suspended(services, id, true).await
}

/// Ends a suspension. Idempotent. Fails with [`AppError::Invalid`] if the account is closed.
pub async fn resume(services: &Services, id: AccountId) -> Result<Account, AppError> {
    set_suspended(services, id, false).await
}

/// Sets the retention of an account's ended requests, in milliseconds: a day or more, [`FOR_EVER`], or `None` for that of the settings. It
/// applies from the next run of the worker that deletes requests. Fails with [`AppError::Invalid`] if the account is closed or the time is
/// out of range.
pub async fn set_retention(
    services: &Services,
    id: AccountId,
    retention_ms: Option<i64>,
) -> Result<Account, AppError> {
    set_retention_repeatably(services, id, ("retention", retention_ms), None)
        .await
        .map(|(account, _)| account)
}

/// Like [`set_retention`], once for all calls of the account with the same idempotency key; faults name `param`. Also returns whether it
/// was set before.
pub(super) async fn set_retention_repeatably(
    services: &Services,
    id: AccountId,
    (param, retention_ms): (&str, Option<i64>),
    key: Option<IdempotencyKey>,
) -> Result<(Account, bool), AppError> {
    if retention_ms.is_some_and(|time| time != FOR_EVER && !RETENTIONS.contains(&time)) {
        return Err(AppError::invalid(param, codes::OUT_OF_RANGE, "must be from 1d to 3650d"));
    }
    let account = get(services, id).await?.key;
    let (now, once) = (services.clock.now(), idempotency::once(key, &id));
    let set = requests::set_retention(&services.store, account, retention_ms, now, once).await?;
    Ok((get(services, id).await?, idempotency::is_repeat(set)?))
}

async fn set_suspended(services: &Services, id: AccountId, is_suspended: bool) -> Result<Account, AppError> {
    let set = accounts::set_suspended(&services.store, id, is_suspended, services.clock.now()).await?;
    services.api_key_cache.distrust();
    set.ok_or(AppError::NotFound("account"))
}

/// A grant in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The reason for the grant; the same source and amount are granted once.
    pub source: String,
    pub is_new: bool,
}

/// Grants credits, or takes some back if `amount` is negative, effective once this returns. Also returns whether the grant was posted now;
/// the same `source` and amount are posted once, but grants without a source are all distinct.
///
/// Fails with [`AppError::Invalid`] if the account is closed, the amount is 0, more is taken back than is available, or the source is
/// malformed or was granted with another amount.
pub async fn grant(
    services: &Services,
    id: AccountId,
    amount: Credits,
    source: Option<&str>,
) -> Result<Grant, AppError> {
    grant_repeatably(services, id, amount, source, None).await.map(|(grant, _)| grant)
}

/// Like [`grant`], once for all calls of the account with the same idempotency key. Also returns whether it was posted before.
pub(super) async fn grant_repeatably(
    services: &Services,
    id: AccountId,
    amount: Credits,
    source: Option<&str>,
    key: Option<IdempotencyKey>,
) -> Result<(Grant, bool), AppError> {
    let out_of_range = |param, message: &str| AppError::invalid(param, codes::OUT_OF_RANGE, message);
    if amount == Credits::ZERO {
        return Err(out_of_range("amount", "must be more or less than nothing"));
    }
    if let Some(source) = source {
        names::check("source", source)?;
    }
    let account = get(services, id).await?;
    let now = services.clock.now();
    let name = source.map_or_else(|| services.ids.next::<GrantKind>(now).to_string(), str::to_owned);
    let source = format!("{id} {name}");
    let entry = NewEntry { account: account.key, kind: EntryKind::Grant, amount, source, now };
    let once = key.map(|key| Once { key, response: name.clone().into() });
    let posted =
        ledger::post_once(&services.store, &entry, once).await.map_err(|error| match AppError::from(error) {
            // A commit whose answer was lost may have succeeded.
            AppError::StoreAway { cause, .. } => {
                let advice = Some(format!("to be granted once, repeat it with --source {name}"));
                AppError::StoreAway { cause, advice }
            }
            other => other,
        });
    let posting = match posted? {
        Guarded::Done(posting) => posting,
        Guarded::Recalled(recalled) => {
            let name = String::from_utf8_lossy(&idempotency::response(recalled)?).into_owned();
            return Ok((Grant { source: name, is_new: true }, true));
        }
    };
    match posting {
        Posting::Posted => Ok((Grant { source: name, is_new: true }, false)),
        Posting::PostedBefore => {
            let before = ledger::find_amount(&services.store, EntryKind::Grant, &entry.source).await?;
            match before.filter(|before| *before != amount) {
                None => Ok((Grant { source: name, is_new: false }, false)),
                Some(before) => {
                    let message =
                        format!("'{name}' is granted already, with {before} credits and not {amount}");
                    Err(AppError::invalid("source", codes::CONFLICT, &message))
                }
            }
        }
        Posting::Refused => {
            let message = match amount < Credits::ZERO {
                true => {
                    format!("is more than the account has: {} credits are available", account.available())
                }
                false => format!("is too much: the account has {}, and may have a billion", account.balance),
            };
            Err(out_of_range("amount", &message))
        }
    }
}

/// A page of at most `limit` ledger entries older than row `before`, newest first; of one kind, or all.
pub async fn list_entries(
    services: &Services,
    account: &Account,
    kind: Option<EntryKind>,
    before: Option<i64>,
    limit: u32,
) -> Result<ListPage<Entry>, AppError> {
    let mut page = ledger::list(&services.store, account.key, kind, before, limit).await?;
    let own = format!("{} ", account.id);
    for source in page.rows.iter_mut().filter_map(|entry| entry.source.as_mut()) {
        if let Some(given) = source.strip_prefix(&own) {
            *source = given.to_owned();
        }
    }
    Ok(page)
}

/// An account's completed requests and charges of the last `days` days including today (UTC), by day and model.
pub async fn list_spend(
    services: &Services,
    account: &Account,
    days: u32,
) -> Result<Vec<SpendRecord>, AppError> {
    let first_day = spend::day_of(services.clock.now()) - i64::from(days) + 1;
    Ok(spend::list(&services.store, account.key, first_day).await?)
}
