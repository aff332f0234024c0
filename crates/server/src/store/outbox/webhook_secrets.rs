//! What webhooks are signed with. An account has one secret; while another replaces it, both are signed with.

use std::collections::BTreeMap;

use overnight_domain::audit_log::AuditAction;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::signature::SigningSecret;

use crate::store::audit_log::{self, Change};
use crate::store::database::{Row, Tx, Value, statements};
use crate::store::idempotency_keys::{Guarded, Once};
use crate::store::ledger::totals;
use crate::store::{Store, StoreError};

/// How many secrets may be in the course of being replaced: each is a signature with every webhook.
const REPLACED_MAX: i64 = 3;

/// A secret of an account. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSecret {
    pub secret: SigningSecret,
    pub created_at: i64,
    /// Until when it is signed with, once another has replaced it.
    pub expires_at: Option<i64>,
}

statements! {
    LIST = "SELECT secret, created_at, expires_at FROM webhook_secrets
        WHERE account = ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY seq DESC";
    LIST_OF over [Integer] = {
        sqlite: "SELECT secret, created_at, expires_at, account FROM webhook_secrets
            WHERE account = ?2 AND (expires_at IS NULL OR expires_at > ?1) ORDER BY seq DESC",
        postgres: "SELECT secret, created_at, expires_at, account FROM webhook_secrets
            WHERE account = ANY ($2::bigint[]) AND (expires_at IS NULL OR expires_at > $1) ORDER BY seq DESC",
    };
    END = "UPDATE webhook_secrets SET expires_at = ? WHERE account = ? AND (expires_at IS NULL OR expires_at > ?)";
    DELETE_ENDED = "DELETE FROM webhook_secrets WHERE account = ? AND (expires_at <= ? OR seq NOT IN (
            SELECT seq FROM webhook_secrets WHERE account = ? ORDER BY seq DESC LIMIT ?))";
    INSERT = "INSERT INTO webhook_secrets (account, secret, created_at) VALUES (?, ?, ?)";
}

/// Those of an account that are signed with at `now`, the newest first.
pub async fn list(store: &Store, account: AccountKey, now: i64) -> Result<Vec<WebhookSecret>, StoreError> {
    store.readers().fetch_all(LIST.bind(account).bind(now)).await?.iter().map(read).collect()
}

/// The same for several accounts, by row number; those that have none that can be read are left out.
pub async fn list_of(
    store: &Store,
    accounts: &[i64],
    now: i64,
) -> Result<BTreeMap<i64, Vec<SigningSecret>>, StoreError> {
    let mut secrets: BTreeMap<i64, Vec<SigningSecret>> = BTreeMap::new();
    let accounts = accounts.iter().map(|account| Value::from(*account)).collect();
    for row in store.readers().fetch_all(LIST_OF.over([now.into()], accounts)).await? {
        match read(&row) {
            Ok(read) => secrets.entry(row.get("account")?).or_default().push(read.secret),
            // What is wrong with one says nothing of the others.
            Err(error) => {
                tracing::error!(%error, account = row.get::<i64>("account")?, "webhook secret cannot be read");
            }
        }
    }
    Ok(secrets)
}

/// Replaces an account's secret. Those before are signed with beside it until they end, and not longer than `overlap_ms`
/// from now; of very many, the newest.
pub async fn rotate(
    store: &Store,
    account: AccountKey,
    secret: &SigningSecret,
    now: i64,
    overlap_ms: i64,
) -> Result<(), StoreError> {
    rotate_once(store, account, secret, now, overlap_ms, None).await?.into_done()
}

/// As [`rotate`], once for all calls with the same idempotency key.
pub async fn rotate_once(
    store: &Store,
    account: AccountKey,
    secret: &SigningSecret,
    now: i64,
    overlap_ms: i64,
    once: Option<Once>,
) -> Result<Guarded<()>, StoreError> {
    let secret = secret.clone();
    let rotate = async move |tx: &mut Tx<'_>| {
        if let Some(once) = once
            && let Some(recalled) = once.take(account, now, tx).await?
        {
            return Ok(Guarded::Recalled(recalled));
        }
        rotate_in(account, &secret, now, overlap_ms, tx).await.map(Guarded::Done)
    };
    store.transaction_of(account, rotate).await
}

async fn rotate_in(
    account: AccountKey,
    secret: &SigningSecret,
    now: i64,
    overlap_ms: i64,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    // One rotation of an account at a time.
    totals::lock_open(account, tx).await?;
    let until = now.saturating_add(overlap_ms);
    tx.execute(END.bind(until).bind(account).bind(until)).await?;
    tx.execute(DELETE_ENDED.bind(account).bind(now).bind(account).bind(REPLACED_MAX)).await?;
    insert_in(account, secret, now, tx).await?;
    audit_log::note_in(Change::of_account(AuditAction::WebhookSecretRotate, account, now), tx).await
}

/// Gives an account that is made its first secret, or one that replaces it.
pub(in crate::store) async fn insert_in(
    account: AccountKey,
    secret: &SigningSecret,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    tx.execute(INSERT.bind(account).bind(secret.bytes()).bind(now)).await.map(drop)
}

fn read(row: &Row) -> Result<WebhookSecret, StoreError> {
    let secret = SigningSecret::from_bytes(row.get("secret")?);
    Ok(WebhookSecret {
        secret: secret.ok_or(StoreError::Damaged("a webhook's secret"))?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
    })
}
