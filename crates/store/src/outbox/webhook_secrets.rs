//! Secrets that sign webhooks. An account has one; while another replaces it, both sign.

use std::collections::BTreeMap;

use overnight_domain::audit_log::AuditAction;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::signature::SigningSecret;

use crate::audit_log::{self, Change};
use crate::database::{Row, Tx, Value, statements};
use crate::idempotency_keys::{Guarded, Once, do_once};
use crate::ledger::totals;
use crate::{Store, StoreError};

/// Secrets being replaced: each adds a signature to every webhook.
const REPLACED_MAX: i64 = 3;

/// Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSecret {
    pub secret: SigningSecret,
    pub created_at: i64,
    /// End of its use, once another has replaced it.
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

/// Those in use at `now`, newest first.
pub async fn list(store: &Store, account: AccountKey, now: i64) -> Result<Vec<WebhookSecret>, StoreError> {
    store.readers().fetch_all(LIST.bind(account).bind(now)).await?.iter().map(read).collect()
}

/// For several accounts, by row number; accounts without a readable secret are left out.
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
            // A fault of one account does not concern the others.
            Err(error) => {
                tracing::error!(%error, account = row.get::<i64>("account")?, "webhook secret cannot be read");
            }
        }
    }
    Ok(secrets)
}

/// Replaces an account's secret. Earlier ones stay in use until they end, at most `overlap_ms` from now; if there are many, only the
/// newest.
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
    let work = async move |tx: &mut Tx<'_>| rotate_in(account, &secret, now, overlap_ms, tx).await;
    do_once(store, account, once, now, work).await
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

/// The first secret of a new account, or a replacement.
pub(crate) async fn insert_in(
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
