//! API keys: kept as their SHA-256, with a visible prefix.

use overnight_domain::ids::{AccountId, KeyId};
use overnight_domain::scheduler::AccountKey;

use super::database::{Kind, Row, Sql, Value, sql};
use super::writer::{Job, Lane, Operation, Unit};
use super::{Store, StoreError};

/// A key to be made.
#[derive(Debug, Clone)]
pub struct NewApiKey {
    /// Its identifier.
    pub id: KeyId,
    /// The account it opens.
    pub account: AccountKey,
    /// The SHA-256 of the whole key.
    pub sha256: [u8; 32],
    /// The part that may be shown.
    pub prefix: String,
    /// What people call it.
    pub name: Option<String>,
    /// When it was made, in milliseconds.
    pub created_at: i64,
    /// When it stops working, in milliseconds.
    pub expires_at: Option<i64>,
}

/// A key as it may be shown. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its identifier.
    pub id: KeyId,
    /// The part that may be shown.
    pub prefix: String,
    /// What people call it.
    pub name: Option<String>,
    /// When it was made.
    pub created_at: i64,
    /// When it stops working.
    pub expires_at: Option<i64>,
    /// When it was revoked.
    pub revoked_at: Option<i64>,
    /// When it opened the account last, a minute or so late; `None` where nobody has used it, or not since this is noted.
    pub last_used_at: Option<i64>,
}

/// What a key opens, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyHolder {
    /// The account.
    pub account: AccountKey,
    /// Its identifier.
    pub account_id: AccountId,
    /// The key's row number.
    pub key: i64,
    /// The key's identifier: what logs may name.
    pub key_id: KeyId,
    /// When the key stops working, in milliseconds.
    pub expires_at: Option<i64>,
    /// Whether the account's payments are activated.
    pub is_activated: bool,
    /// When the key was used last, as far as it is stored; in milliseconds.
    pub last_used_at: Option<i64>,
}

/// Makes a key, usable in every process once this returns.
pub async fn insert(store: &Store, key: &NewApiKey) -> Result<(), StoreError> {
    let mut connection = store.connect().await?;
    let text = "INSERT INTO api_keys (id, account, sha256, prefix, name, created_at, expires_at)
                VALUES (?, ?, ?, ?, ?, ?, ?)";
    let insert = sql(text)
        .bind(key.id.to_bytes())
        .bind(key.account.0)
        .bind(key.sha256.to_vec())
        .bind(key.prefix.as_str())
        .bind(key.name.clone())
        .bind(key.created_at)
        .bind(key.expires_at);
    connection.execute(insert).await.map(drop)
}

/// Who holds the key with this hash, unless it was revoked. Expiry is for the caller to compare.
pub async fn find_holder(store: &Store, sha256: &[u8; 32]) -> Result<Option<KeyHolder>, StoreError> {
    let text = "SELECT k.account, a.id, k.id, k.expires_at, a.payments_activated_at, k.last_used_at, k.seq
                FROM api_keys k
                JOIN accounts a ON a.seq = k.account WHERE k.sha256 = ? AND k.revoked_at IS NULL";
    let Some(row) = store.readers().fetch_optional(sql(text).bind(sha256.to_vec())).await? else {
        return Ok(None);
    };
    Ok(Some(KeyHolder {
        account: AccountKey(row.get(0)?),
        account_id: AccountId::from_bytes(row.get(1)?).ok_or(StoreError::Damaged("an account's id"))?,
        key_id: read_id(&row, 2)?,
        expires_at: row.get(3)?,
        is_activated: row.get::<Option<i64>>(4)?.is_some(),
        last_used_at: row.get(5)?,
        key: row.get(6)?,
    }))
}

/// The keys of an account, oldest first.
pub async fn list(store: &Store, account: AccountKey) -> Result<Vec<ApiKey>, StoreError> {
    let text = "SELECT id, prefix, name, created_at, expires_at, revoked_at, last_used_at FROM api_keys
                WHERE account = ? ORDER BY seq";
    store.readers().fetch_all(sql(text).bind(account.0)).await?.iter().map(read).collect()
}

/// Revokes a key; `None` where there is no such key. A second time keeps the first time.
pub async fn revoke(store: &Store, id: KeyId, now: i64) -> Result<Option<ApiKey>, StoreError> {
    let mut connection = store.connect().await?;
    let text = "UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?
                RETURNING id, prefix, name, created_at, expires_at, revoked_at, last_used_at";
    let update = sql(text).bind(now).bind(id.to_bytes());
    connection.fetch(update).await?.first().map(read).transpose()
}

/// When keys were used, by their row numbers and in milliseconds. What is stored already, and what is unknown, stays as
/// it is.
pub async fn note_uses(store: &Store, mut uses: Vec<(i64, i64)>) -> Result<(), StoreError> {
    uses.sort_unstable();
    store.writer().write(NoteUses { uses }).await
}

pub(super) struct NoteUses {
    uses: Vec<(i64, i64)>,
}

/// Everybody locks in the order of `seq`.
pub(super) static NOTE: Sql = Sql {
    name: "NOTE",
    sqlite: "UPDATE api_keys SET last_used_at = ?2 WHERE seq = ?1 AND coalesce(last_used_at, 0) < ?2",
    postgres: "WITH k AS (
             SELECT api_keys.seq, v.used_at FROM unnest($1::bigint[], $2::bigint[]) AS v(key, used_at)
             JOIN api_keys ON api_keys.seq = v.key ORDER BY api_keys.seq FOR UPDATE OF api_keys
         ) UPDATE api_keys SET last_used_at = k.used_at FROM k
           WHERE api_keys.seq = k.seq AND coalesce(api_keys.last_used_at, 0) < k.used_at",
    columns: &[Kind::Integer; 2],
};

impl Operation for NoteUses {
    type Answer = ();
    const LANE: Lane = Lane::Control;

    fn rows(&self) -> usize {
        self.uses.len()
    }

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<()>, StoreError> {
        for job in jobs {
            let uses = job.operation.uses.iter();
            let values = uses.flat_map(|(key, used_at)| [*key, *used_at].map(Value::from)).collect();
            unit.tx.execute(NOTE.over([], values)).await?;
        }
        Ok(vec![(); jobs.len()])
    }
}

fn read(row: &Row) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        id: read_id(row, 0)?,
        prefix: row.get(1)?,
        name: row.get(2)?,
        created_at: row.get(3)?,
        expires_at: row.get(4)?,
        revoked_at: row.get(5)?,
        last_used_at: row.get(6)?,
    })
}

fn read_id(row: &Row, column: usize) -> Result<KeyId, StoreError> {
    KeyId::from_bytes(row.get(column)?).ok_or(StoreError::Damaged("a key's id"))
}
