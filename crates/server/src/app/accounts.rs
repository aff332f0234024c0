//! Accounts: who requests, batches, keys and credits belong to.

use std::ops::RangeInclusive;

use overnight_domain::faults::codes;
use overnight_domain::ids::{AccountId, GrantKind};
use overnight_domain::money::{Credits, EntryKind};
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::signature::SigningSecret;
use overnight_wire::native::accounts::{
    Account as Record, AccountQuotas, LowCredits as LowCreditsRecord, QuotaUse,
};

use super::errors::AppError;
use super::quotas::{self, QuotaStanding};
use super::{Services, idempotency, names};
use crate::config::Millis;
use crate::store::idempotency_keys::{Guarded, IdempotencyKey, Once};
pub use crate::store::identity::accounts::Account;
use crate::store::identity::accounts::{self, LowCredits, NewAccount};
pub use crate::store::ledger::Entry;
use crate::store::ledger::spend;
pub use crate::store::ledger::spend::SpendRecord;
use crate::store::ledger::{self, NewEntry, Posting};
use crate::store::lists::ListPage;
use crate::store::requests;
pub use crate::store::requests::FOR_EVER;

/// How long requests may be kept, in milliseconds, where not for ever: as `retention` of the settings.
const RETENTIONS: RangeInclusive<i64> = 86_400_000..=3_650 * 86_400_000;

/// Makes an account without credits, whose payments are not activated; every process sees it once this returns.
///
/// # Errors
///
/// [`AppError::Invalid`] for a name that cannot be.
pub async fn create(services: &Services, name: &str) -> Result<Account, AppError> {
    let account = draft(services, name, Start { is_activated: false, credits: Credits::ZERO })?;
    Ok(accounts::insert(&services.store, &account).await?)
}

/// What an account has from the beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    /// Whether its payments are activated.
    pub(super) is_activated: bool,
    /// Its credits.
    pub(super) credits: Credits,
}

/// An account that is not stored yet, with what it is to have from the beginning.
pub(super) fn draft(services: &Services, name: &str, start: Start) -> Result<NewAccount, AppError> {
    names::check("name", name)?;
    let now = services.clock.now();
    let (id, name) = (services.ids.next(now), name.to_owned());
    let webhook_secret = SigningSecret::new(services.ids.random());
    let Start { is_activated, credits } = start;
    Ok(NewAccount { id, name, created_at: now, is_activated, credits, webhook_secret })
}

/// The account with this identifier.
pub async fn get(services: &Services, id: AccountId) -> Result<Account, AppError> {
    accounts::find(&services.store, id).await?.ok_or(AppError::NotFound("account"))
}

/// The account as the API and the operator's commands show it.
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

/// How long ended requests of an account are kept, in milliseconds; `None` for ever.
fn retention_of(services: &Services, account: &Account) -> Option<i64> {
    let default = services.config().retention.map(|Millis(retention)| retention);
    account.retention_ms.or(default).filter(|retention| *retention != FOR_EVER)
}

pub async fn get_own(services: &Services, key: AccountKey) -> Result<Account, AppError> {
    Ok(accounts::get(&services.store, key).await?)
}

/// Every account, oldest first.
pub async fn list(services: &Services) -> Result<Vec<Account>, AppError> {
    Ok(accounts::list(&services.store).await?)
}

/// Activates an account's payments: its keys work from the moment this returns. A second time changes nothing.
pub async fn activate(services: &Services, id: AccountId) -> Result<Account, AppError> {
    let activated = accounts::activate(&services.store, id, services.clock.now()).await?;
    activated.ok_or(AppError::NotFound("account"))
}

/// Suspends an account: its keys and members change nothing any more, at once in this process and within a second in every other.
/// What it sent before is done and charged, and can be read. A second time changes nothing.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account, and [`AppError::Invalid`] where it is closed.
pub async fn suspend(services: &Services, id: AccountId) -> Result<Account, AppError> {
    set_suspended(services, id, true).await
}

/// Lets an account go on that was suspended. A second time changes nothing.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account, and [`AppError::Invalid`] where it is closed.
pub async fn resume(services: &Services, id: AccountId) -> Result<Account, AppError> {
    set_suspended(services, id, false).await
}

/// Sets how long ended requests of an account are kept, in milliseconds, from the next run of the worker that deletes them: a time of a day
/// or more, [`FOR_EVER`], or `None` for as long as the settings say.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account, and [`AppError::Invalid`] for one that is closed, and for a shorter or much longer
/// time.
pub async fn set_retention(
    services: &Services,
    id: AccountId,
    retention_ms: Option<i64>,
) -> Result<Account, AppError> {
    set_retention_repeatably(services, id, ("retention", retention_ms), None)
        .await
        .map(|(account, _)| account)
}

/// As [`set_retention`] for what the caller names so, once for all calls of the account with the same idempotency key; and whether it was set before.
///
/// # Errors
///
/// As [`set_retention`], and [`AppError::IdempotencyKeyReused`].
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

/// A grant that stands in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What it is for; repeated with it, nothing changes.
    pub source: String,
    pub is_new: bool,
}

/// Grants credits, or takes some back where `amount` is negative; they count from the moment this returns. Whether it was
/// posted, or the same `source` and amount was before: then nothing changed. Without a source each grant is one of its own.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account; [`AppError::Invalid`] where it is closed, for an amount of nothing, for
/// more than is available to take back, or a source that cannot be or was granted with another amount.
pub async fn grant(
    services: &Services,
    id: AccountId,
    amount: Credits,
    source: Option<&str>,
) -> Result<Grant, AppError> {
    grant_repeatably(services, id, amount, source, None).await.map(|(grant, _)| grant)
}

/// As [`grant`], once for all calls of the account with the same idempotency key; and whether it was posted before.
///
/// # Errors
///
/// As [`grant`], and [`AppError::IdempotencyKeyReused`].
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
            // A commit whose answer was lost may have been done.
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

/// A page of an account's ledger behind the entry in row `before`, the newest first, `limit` at most; of one kind, or all.
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

/// What an account completed and was charged for on the last `days` days, today's (UTC) among them, by day and model.
pub async fn list_spend(
    services: &Services,
    account: &Account,
    days: u32,
) -> Result<Vec<SpendRecord>, AppError> {
    let first_day = spend::day_of(services.clock.now()) - i64::from(days) + 1;
    Ok(spend::list(&services.store, account.key, first_day).await?)
}
