//! Accounts: who requests belong to.

use overnight_domain::audit_log::AuditAction;
use overnight_domain::ids::AccountId;
use overnight_domain::money::{Credits, EntryKind};
use overnight_domain::quotas::{Quota, Quotas};
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::signature::SigningSecret;
use serde_json::{Map, Value, json};

use crate::audit_log::{self, Change};
use crate::database::{Row, Tx, statements};
use crate::idempotency_keys::{Guarded, Once, do_once};
use crate::identity::api_keys::{self, NewApiKey};
use crate::ledger::{self, NewEntry, Posting, totals};
use crate::outbox::webhook_secrets;
use crate::{Store, StoreError};

#[derive(Debug, Clone)]
pub struct NewAccount {
    pub id: AccountId,
    pub name: String,
    /// In milliseconds.
    pub created_at: i64,
    /// Whether its payments are activated from the beginning.
    pub is_activated: bool,
    /// Granted at creation.
    pub credits: Credits,
    pub webhook_secret: SigningSecret,
}

/// Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub key: AccountKey,
    pub id: AccountId,
    pub name: String,
    pub created_at: i64,
    pub balance: Credits,
    /// Held of that by live requests.
    pub held: Credits,
    pub payments_activated_at: Option<i64>,
    pub suspended_at: Option<i64>,
    pub closed_at: Option<i64>,
    pub erase_at: Option<i64>,
    /// Only its ledger is left since then.
    pub erased_at: Option<i64>,
    /// Of its ended requests; `None` for the settings' default.
    pub retention_ms: Option<i64>,
    /// Granted each calendar month (UTC), if any.
    pub monthly_credits: Option<Credits>,
    pub low_credits: Option<LowCredits>,
    pub live_requests: i64,
    pub stored_bytes: i64,
    /// Its own; the settings' quotas apply otherwise.
    pub quotas: Quotas,
}

/// When and where an account is notified of low credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LowCredits {
    /// It is notified once fewer credits are available.
    pub threshold: Credits,
    pub webhook: String,
}

impl Account {
    /// Credits for new requests; negative if a payment was taken back.
    pub fn available(&self) -> Credits {
        self.balance.checked_sub(self.held).unwrap_or_default()
    }
}

/// As [`read`] reads them.
macro_rules! columns {
    () => {
        "seq, id, name, created_at, balance, held, payments_activated_at, suspended_at, closed_at, erase_at, erased_at, retention_ms, \
         monthly_credits, low_credits_threshold, low_credits_webhook, live_requests, stored_bytes, live_requests_quota, \
         stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota"
    };
}

statements! {
    INSERT = ("INSERT INTO accounts (id, name, created_at, payments_activated_at) VALUES (?, ?, ?, ?)
        RETURNING ", columns!());
    ACTIVATE = ("UPDATE accounts SET payments_activated_at = coalesce(payments_activated_at, ?) WHERE id = ?
        RETURNING ", columns!());
    /// A repeat keeps the first time. A closed account stays suspended.
    SET_SUSPENDED = ("UPDATE accounts SET suspended_at = CASE WHEN ? = 1 OR closed_at IS NOT NULL THEN coalesce(suspended_at, ?) END WHERE id = ?
        RETURNING ", columns!());
    SET_QUOTAS = ("UPDATE accounts SET live_requests_quota = ?, stored_bytes_quota = ?, requests_per_second_quota = ?,
               tokens_per_day_quota = ?
        WHERE id = ?
        RETURNING ", columns!());
    FIND_TO_CHANGE = {
        sqlite: concat!("SELECT ", columns!(), " FROM accounts WHERE id = ?"),
        postgres: concat!("SELECT ", columns!(), " FROM accounts WHERE id = ? FOR UPDATE"),
    };
    FIND = ("SELECT ", columns!(), " FROM accounts WHERE id = ?");
    GET = ("SELECT ", columns!(), " FROM accounts WHERE seq = ?");
    LIST = ("SELECT ", columns!(), " FROM accounts ORDER BY seq");
    LIST_PAGE = ("SELECT ", columns!(), " FROM accounts WHERE seq > ? ORDER BY seq LIMIT ?");
}

/// Visible to every process once this returns.
pub async fn insert(store: &Store, account: &NewAccount) -> Result<Account, StoreError> {
    let account = account.clone();
    store.transaction(async move |tx| insert_in(&account, tx).await).await
}

/// For the account of a `caller`, once for all calls with the same idempotency key.
pub async fn insert_once(
    store: &Store,
    caller: AccountKey,
    account: &NewAccount,
    once: Option<Once>,
) -> Result<Guarded<Account>, StoreError> {
    let (account, now) = (account.clone(), account.created_at);
    let work = async move |tx: &mut Tx<'_>| insert_in(&account, tx).await;
    do_once(store, caller, once, now, work).await
}

pub async fn insert_with_key(
    store: &Store,
    account: &NewAccount,
    key: &NewApiKey,
) -> Result<Account, StoreError> {
    let (account, key) = (account.clone(), key.clone());
    let making = async move |tx: &mut Tx<'_>| {
        let made = insert_in(&account, tx).await?;
        api_keys::insert_in(made.key, &key, tx).await?;
        Ok(made)
    };
    store.transaction(making).await
}

pub(crate) async fn insert_in(account: &NewAccount, tx: &mut Tx<'_>) -> Result<Account, StoreError> {
    let NewAccount { id, name, created_at, is_activated, credits, webhook_secret } = account;
    let activated_at = is_activated.then_some(*created_at);
    let rows = tx.fetch(INSERT.bind(*id).bind(name.as_str()).bind(*created_at).bind(activated_at)).await?;
    let mut made = read(rows.first().ok_or(StoreError::Damaged("a created account"))?)?;
    webhook_secrets::insert_in(made.key, webhook_secret, *created_at, tx).await?;
    let change = Change::of_account(AuditAction::AccountCreate, made.key, *created_at);
    audit_log::note_in(change.with(json!({"name": name})), tx).await?;
    if *credits != Credits::ZERO {
        let source = format!("{id} bootstrap");
        let (account, kind, amount, now) = (made.key, EntryKind::Grant, *credits, *created_at);
        let posting = ledger::post_in(&NewEntry { account, kind, amount, source, now }, tx).await?;
        if posting != Posting::Posted {
            return Err(StoreError::Damaged("the first entry of an account"));
        }
        made.balance = amount;
    }
    Ok(made)
}

/// Activates payments, in every process once this returns. A repeat keeps the first time. A closed account is refused.
pub async fn activate(store: &Store, id: AccountId, now: i64) -> Result<Option<Account>, StoreError> {
    let activate = async move |tx: &mut Tx<'_>| {
        let Some(found) = find_open(id, tx).await? else { return Ok(None) };
        if found.payments_activated_at.is_some() {
            return Ok(Some(found));
        }
        audit_log::note_in(Change::of_account(AuditAction::AccountActivate, found.key, now), tx).await?;
        tx.fetch(ACTIVATE.bind(now).bind(id)).await?.first().map(read).transpose()
    };
    store.transaction(activate).await
}

/// Locks an account until the transaction ends; a closed one is refused.
async fn find_open(id: AccountId, tx: &mut Tx<'_>) -> Result<Option<Account>, StoreError> {
    match tx.fetch(FIND_TO_CHANGE.bind(id)).await?.first().map(read).transpose()? {
        Some(found) if found.closed_at.is_some() => Err(StoreError::AccountClosed),
        found => Ok(found),
    }
}

/// Suspends or resumes an account, in every process within a second. A repeat keeps the first time. A closed account is refused.
pub async fn set_suspended(
    store: &Store,
    id: AccountId,
    is_suspended: bool,
    now: i64,
) -> Result<Option<Account>, StoreError> {
    let set = async move |tx: &mut Tx<'_>| {
        let Some(found) = find_open(id, tx).await? else { return Ok(None) };
        if found.suspended_at.is_some() == is_suspended {
            return Ok(Some(found));
        }
        let action = if is_suspended { AuditAction::AccountSuspend } else { AuditAction::AccountResume };
        audit_log::note_in(Change::of_account(action, found.key, now), tx).await?;
        let set = SET_SUSPENDED.bind(i64::from(is_suspended)).bind(now).bind(id);
        tx.fetch(set).await?.first().map(read).transpose()
    };
    store.transaction(set).await
}

/// Takes effect in every process within a second. A closed account is refused.
pub async fn set_quotas(
    store: &Store,
    id: AccountId,
    changes: Vec<(Quota, Option<i64>)>,
    now: i64,
) -> Result<Option<Account>, StoreError> {
    let setting = async move |tx: &mut Tx<'_>| {
        let Some(found) = find_open(id, tx).await? else { return Ok(None) };
        let told = changes.iter().map(|(quota, limit)| (quota.name().to_owned(), limit_words(*limit)));
        let told = told.collect::<Map<_, _>>();
        let quotas =
            changes.into_iter().fold(found.quotas, |quotas, (quota, limit)| quotas.with(quota, limit));
        if quotas == found.quotas {
            return Ok(Some(found));
        }
        let change = Change::of_account(AuditAction::AccountLimits, found.key, now);
        audit_log::note_in(change.with(told.into()), tx).await?;
        let set = SET_QUOTAS
            .bind(quotas.get(Quota::LiveRequests))
            .bind(quotas.get(Quota::StoredBytes))
            .bind(quotas.get(Quota::RequestsPerSecond))
            .bind(quotas.get(Quota::TokensPerDay))
            .bind(id);
        tx.fetch(set).await?.first().map(read).transpose()
    };
    store.transaction(setting).await
}

/// As on the command line.
fn limit_words(limit: Option<i64>) -> Value {
    match limit {
        None => "default".into(),
        Some(Quotas::UNLIMITED) => "none".into(),
        Some(limit) => limit.into(),
    }
}

pub async fn find(store: &Store, id: AccountId) -> Result<Option<Account>, StoreError> {
    store.readers().fetch_optional(FIND.bind(id)).await?.as_ref().map(read).transpose()
}

pub async fn get(store: &Store, key: AccountKey) -> Result<Account, StoreError> {
    read(&store.readers().fetch_one(GET.bind(key)).await?)
}

/// Oldest first.
pub async fn list(store: &Store) -> Result<Vec<Account>, StoreError> {
    store.readers().fetch_all(LIST.unbound()).await?.iter().map(read).collect()
}

/// Oldest first, after the row `after`.
pub async fn list_page(store: &Store, after: i64, limit: u32) -> Result<Vec<Account>, StoreError> {
    store.readers().fetch_all(LIST_PAGE.bind(after).bind(limit)).await?.iter().map(read).collect()
}

pub(crate) fn read(row: &Row) -> Result<Account, StoreError> {
    Ok(Account {
        key: row.get("seq")?,
        id: row.get("id")?,
        name: row.get("name")?,
        created_at: row.get("created_at")?,
        balance: row.get("balance")?,
        held: row.get("held")?,
        payments_activated_at: row.get("payments_activated_at")?,
        suspended_at: row.get("suspended_at")?,
        closed_at: row.get("closed_at")?,
        erase_at: row.get("erase_at")?,
        erased_at: row.get("erased_at")?,
        retention_ms: row.get("retention_ms")?,
        monthly_credits: row.get("monthly_credits")?,
        low_credits: read_low_credits(row)?,
        live_requests: row.get("live_requests")?,
        stored_bytes: row.get("stored_bytes")?,
        quotas: totals::read_quotas(row)?,
    })
}

/// Reads `low_credits_threshold, low_credits_webhook`, which are both set or both null.
fn read_low_credits(row: &Row) -> Result<Option<LowCredits>, StoreError> {
    let threshold: Option<Credits> = row.get("low_credits_threshold")?;
    let webhook: Option<String> = row.get("low_credits_webhook")?;
    Ok(threshold.zip(webhook).map(|(threshold, webhook)| LowCredits { threshold, webhook }))
}
