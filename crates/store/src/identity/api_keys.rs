//! API keys: kept as their SHA-256, with a visible prefix.

use std::collections::HashMap;

use overnight_domain::api_keys::KeyScope;
use overnight_domain::audit_log::AuditAction;
use overnight_domain::ids::{AccountId, KeyId};
use overnight_domain::money::Credits;
use overnight_domain::scheduler::AccountKey;
use serde_json::json;

use crate::audit_log::{self, Change};
use crate::database::{Row, Tx, Value, statements};
use crate::idempotency_keys::{Guarded, Once, do_once};
use crate::ledger::totals;
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

/// Working keys per account.
pub const USABLE_MAX: u32 = 1_000;

/// Listed keys that were revoked or have expired.
pub const ENDED_LISTED_MAX: u32 = 1_000;

#[derive(Debug, Clone)]
pub struct NewApiKey {
    pub id: KeyId,
    pub sha256: [u8; 32],
    pub prefix: String,
    pub name: Option<String>,
    pub scope: KeyScope,
    /// In milliseconds.
    pub created_at: i64,
    /// In milliseconds.
    pub expires_at: Option<i64>,
}

/// A key as it may be shown. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: KeyId,
    pub prefix: String,
    pub name: Option<String>,
    pub scope: KeyScope,
    pub created_at: i64,
    pub expires_at: Option<i64>,
    pub revoked_at: Option<i64>,
    /// To about a minute; `None` if it was never used, or not since this is recorded.
    pub last_used_at: Option<i64>,
}

impl From<NewApiKey> for ApiKey {
    /// As it is right after creation.
    fn from(new: NewApiKey) -> Self {
        let NewApiKey { id, prefix, name, scope, created_at, expires_at, .. } = new;
        Self { id, prefix, name, scope, created_at, expires_at, revoked_at: None, last_used_at: None }
    }
}

impl ApiKey {
    /// `now` is in milliseconds.
    pub fn works_at(&self, now: i64) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expires_at| expires_at > now)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyHolder {
    pub account: AccountKey,
    pub account_id: AccountId,
    /// Row number.
    pub key: i64,
    /// May be logged.
    pub key_id: KeyId,
    pub scope: KeyScope,
    /// In milliseconds.
    pub expires_at: Option<i64>,
    pub is_suspended: bool,
    /// Whether the account's payments are activated.
    pub is_activated: bool,
    /// As far as it is stored; in milliseconds.
    pub last_used_at: Option<i64>,
    /// The account's own.
    pub requests_per_second_quota: Option<i64>,
}

/// Working keys of an account, and the newest of the others. Its values: account, now, account, now, number of others.
macro_rules! listed_keys {
    ($columns:literal) => {
        concat!(
            "
            SELECT ",
            $columns,
            " FROM api_keys
            WHERE account = ? AND revoked_at IS NULL AND coalesce(expires_at, 9223372036854775807) > ?
            UNION ALL
            SELECT ",
            $columns,
            " FROM (
                SELECT ",
            $columns,
            " FROM api_keys
                WHERE account = ? AND (revoked_at IS NOT NULL OR expires_at <= ?) ORDER BY seq DESC LIMIT ?) ended
        "
        )
    };
}

statements! {
    INSERT = "INSERT INTO api_keys (id, account, sha256, prefix, name, scope, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    FIND_HOLDER = "SELECT k.account, a.id AS account_id, k.seq, k.id, k.scope, k.expires_at, k.last_used_at,
               a.suspended_at IS NOT NULL AS is_suspended, a.payments_activated_at IS NOT NULL AS is_activated, a.requests_per_second_quota
        FROM api_keys k JOIN accounts a ON a.seq = k.account WHERE k.sha256 = ? AND k.revoked_at IS NULL";
    /// Counts working keys up to a limit.
    COUNT_USABLE = "SELECT count(*) AS count FROM (SELECT 1 FROM api_keys
        WHERE account = ? AND revoked_at IS NULL AND coalesce(expires_at, 9223372036854775807) > ? LIMIT ?) v";
    LIST = ("SELECT seq, id, prefix, name, scope, created_at, expires_at, revoked_at, last_used_at FROM (",
        listed_keys!("seq, id, prefix, name, scope, created_at, expires_at, revoked_at, last_used_at"), ") v ORDER BY seq");
    LIST_SPENT = ("SELECT k.id, g.amount FROM (", listed_keys!("seq, id"), ") k
        JOIN (SELECT api_key, CAST(sum(amount) AS BIGINT) AS amount FROM spend_by_key WHERE account = ? AND day >= ? GROUP BY api_key) g
            ON g.api_key = k.seq");
    FIND = "SELECT id, prefix, name, scope, created_at, expires_at, revoked_at, last_used_at FROM api_keys WHERE id = ? AND account = ?";
    FIND_OWN = "SELECT seq FROM api_keys WHERE id = ? AND account = ?";
    FIND_TO_REVOKE = {
        sqlite: "SELECT account, id, prefix, name, scope, created_at, expires_at, revoked_at, last_used_at FROM api_keys WHERE id = ?",
        postgres: "SELECT account, id, prefix, name, scope, created_at, expires_at, revoked_at, last_used_at FROM api_keys WHERE id = ?
        FOR UPDATE",
    };
    REVOKE = "UPDATE api_keys SET revoked_at = ? WHERE id = ?";
    /// Every node locks in the order of `seq`.
    NOTE over [Integer, Integer] = {
        sqlite: "UPDATE api_keys SET last_used_at = ?2 WHERE seq = ?1 AND coalesce(last_used_at, 0) < ?2",
        postgres: "WITH k AS (
                SELECT api_keys.seq, v.used_at FROM unnest($1::bigint[], $2::bigint[]) AS v(key, used_at)
                JOIN api_keys ON api_keys.seq = v.key ORDER BY api_keys.seq FOR UPDATE OF api_keys
            ) UPDATE api_keys SET last_used_at = k.used_at FROM k
              WHERE api_keys.seq = k.seq AND coalesce(api_keys.last_used_at, 0) < k.used_at",
    };
}

/// Creates a key, usable in every process once this returns; `false` if [`USABLE_MAX`] keys of the account work already.
pub async fn insert(store: &Store, account: AccountKey, key: &NewApiKey) -> Result<bool, StoreError> {
    insert_once(store, account, key, None).await?.into_done()
}

/// As [`insert`], once for all calls with the same idempotency key.
pub async fn insert_once(
    store: &Store,
    account: AccountKey,
    key: &NewApiKey,
    once: Option<Once>,
) -> Result<Guarded<bool>, StoreError> {
    let (key, now) = (key.clone(), key.created_at);
    let work = async move |tx: &mut Tx<'_>| {
        // Of two concurrent calls the second counts the first's key.
        totals::lock_open(account, tx).await?;
        let count = COUNT_USABLE.bind(account).bind(key.created_at).bind(USABLE_MAX);
        let usable: i64 = tx.fetch(count).await?.first().map_or(Ok(0), |row| row.get("count"))?;
        let is_made = usable < i64::from(USABLE_MAX);
        if is_made {
            insert_in(account, &key, tx).await?;
        } else {
            tx.undo();
        }
        Ok(is_made)
    };
    do_once(store, account, once, now, work).await
}

/// Regardless of [`USABLE_MAX`].
pub(crate) async fn insert_in(
    account: AccountKey,
    key: &NewApiKey,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    let insert = INSERT
        .bind(key.id)
        .bind(account)
        .bind(key.sha256)
        .bind(key.prefix.as_str())
        .bind(key.name.clone())
        .bind(scope_code(key.scope))
        .bind(key.created_at)
        .bind(key.expires_at);
    tx.execute(insert).await?;
    let NewApiKey { id, name, scope, expires_at, .. } = key;
    let details =
        json!({"name": name, "scope": scope.as_str(), "expires_at": expires_at.map(|at| at / 1_000)});
    let change = Change::of_account(AuditAction::ApiKeyCreate, account, key.created_at).to("api_key", id);
    audit_log::note_in(change.with(details), tx).await
}

/// The holder of a key that was not revoked. The caller compares its expiry.
pub async fn find_holder(store: &Store, sha256: &[u8; 32]) -> Result<Option<KeyHolder>, StoreError> {
    let Some(row) = store.readers().fetch_optional(FIND_HOLDER.bind(*sha256)).await? else {
        return Ok(None);
    };
    Ok(Some(KeyHolder {
        account: row.get("account")?,
        account_id: row.get("account_id")?,
        key: row.get("seq")?,
        key_id: row.get("id")?,
        scope: read_scope(&row)?,
        expires_at: row.get("expires_at")?,
        is_suspended: row.get("is_suspended")?,
        is_activated: row.get("is_activated")?,
        last_used_at: row.get("last_used_at")?,
        requests_per_second_quota: row.get("requests_per_second_quota")?,
    }))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyList {
    /// Oldest first: all that work, and the newest [`ENDED_LISTED_MAX`] that were revoked or have expired.
    pub keys: Vec<ApiKey>,
    /// Whether older ended keys are left out.
    pub is_cut: bool,
}

/// `now` is in milliseconds.
pub async fn list(store: &Store, account: AccountKey, now: i64) -> Result<KeyList, StoreError> {
    let query = LIST.bind(account).bind(now).bind(account).bind(now).bind(ENDED_LISTED_MAX + 1);
    let rows = store.long_readers(account).fetch_all(query).await?;
    let mut keys = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let has_ended = |key: &ApiKey| !key.works_at(now);
    let is_cut = keys.iter().filter(|key| has_ended(key)).count() > ENDED_LISTED_MAX as usize;
    if is_cut && let Some(oldest) = keys.iter().position(has_ended) {
        keys.remove(oldest);
    }
    Ok(KeyList { keys, is_cut })
}

/// Charges since `first_day` for each key of [`list`] with completions. An account has one such read at a time.
pub async fn list_spent(
    store: &Store,
    account: AccountKey,
    first_day: i64,
    now: i64,
) -> Result<HashMap<KeyId, Credits>, StoreError> {
    let query = LIST_SPENT.bind(account).bind(now).bind(account).bind(now).bind(ENDED_LISTED_MAX);
    let rows = store.long_readers(account).fetch_sums(query.bind(account).bind(first_day)).await?;
    rows.iter().map(|row| Ok((row.get("id")?, row.get("amount")?))).collect()
}

pub async fn find(store: &Store, account: AccountKey, id: KeyId) -> Result<Option<ApiKey>, StoreError> {
    store.readers().fetch_optional(FIND.bind(id).bind(account)).await?.as_ref().map(read).transpose()
}

pub async fn is_own(store: &Store, account: AccountKey, id: KeyId) -> Result<bool, StoreError> {
    let found = store.readers().fetch_optional(FIND_OWN.bind(id).bind(account)).await?;
    Ok(found.is_some())
}

/// Revokes a key, in the turn of `account` if an account asks; `None` for an unknown key. A repeat keeps the first time.
pub async fn revoke(
    store: &Store,
    account: Option<AccountKey>,
    id: KeyId,
    now: i64,
) -> Result<Option<ApiKey>, StoreError> {
    let work = async move |tx: &mut Tx<'_>| revoke_in(id, now, tx).await;
    match account {
        Some(account) => store.transaction_of(account, work).await,
        None => store.transaction(work).await,
    }
}

async fn revoke_in(id: KeyId, now: i64, tx: &mut Tx<'_>) -> Result<Option<ApiKey>, StoreError> {
    let rows = tx.fetch(FIND_TO_REVOKE.bind(id)).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let found = read(row)?;
    if found.revoked_at.is_some() {
        return Ok(Some(found));
    }
    tx.execute(REVOKE.bind(now).bind(id)).await?;
    let details = json!({"name": found.name, "scope": found.scope.as_str()});
    let change = Change::of_account(AuditAction::ApiKeyRevoke, row.get("account")?, now).to("api_key", &id);
    audit_log::note_in(change.with(details), tx).await?;
    Ok(Some(ApiKey { revoked_at: Some(now), ..found }))
}

/// Stores when keys were used, by row number and in milliseconds. Stored times and unknown keys do not change.
pub async fn note_uses(store: &Store, mut uses: Vec<(i64, i64)>) -> Result<(), StoreError> {
    uses.sort_unstable();
    store.writer().write(NoteUses { uses }).await
}

pub(crate) struct NoteUses {
    uses: Vec<(i64, i64)>,
}

impl Operation for NoteUses {
    type Answer = ();
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::NoteKeyUses;

    fn rows(&self) -> usize {
        self.uses.len()
    }

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<()>, StoreError> {
        for job in jobs {
            let uses = job.operation.uses.iter();
            let values = uses.flat_map(|(key, used_at)| [*key, *used_at].map(Value::from)).collect();
            write.tx.execute(NOTE.over([], values)).await?;
        }
        Ok(vec![(); jobs.len()])
    }
}

const fn scope_code(scope: KeyScope) -> i64 {
    match scope {
        KeyScope::Write => 0,
        KeyScope::Read => 1,
        KeyScope::Admin => 2,
    }
}

fn read_scope(row: &Row) -> Result<KeyScope, StoreError> {
    let code: i64 = row.get("scope")?;
    let scope = KeyScope::ALL.into_iter().find(|scope| scope_code(*scope) == code);
    scope.ok_or(StoreError::Damaged("an API key's scope"))
}

/// Reads `id, prefix, name, scope, created_at, expires_at, revoked_at, last_used_at`.
fn read(row: &Row) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        id: row.get("id")?,
        prefix: row.get("prefix")?,
        name: row.get("name")?,
        scope: read_scope(row)?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        revoked_at: row.get("revoked_at")?,
        last_used_at: row.get("last_used_at")?,
    })
}
