//! Completions and charges of accounts, summed by any of day, model and API key.

use overnight_domain::ids::KeyId;
use overnight_domain::money::Credits;
use overnight_domain::scheduler::AccountKey;

use crate::database::{Row, Statement, statements};
use crate::{Store, StoreError};

/// Records are grouped by these, and summed over the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grouping {
    /// In UTC.
    pub day: bool,
    pub model: bool,
    /// Completions without a key have a record of their own.
    pub api_key: bool,
}

/// Inclusive, in days since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    pub first: i64,
    pub last: i64,
}

/// A place in a list of one grouping: day, and row numbers of model and API key, each 0 if summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Days since 1970, UTC.
    pub day: i64,
    /// Row number.
    pub model: i64,
    /// Row number; 0 also for no key.
    pub api_key: i64,
}

impl Place {
    pub const BEGIN: Self = Self { day: i64::MIN, model: i64::MIN, api_key: i64::MIN };
}

/// An API key, which may no longer work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedKey {
    pub id: KeyId,
    pub name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    pub model: Option<String>,
    pub api_key: Option<KeyId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRecord {
    pub place: Place,
    /// `None` if summed.
    pub model: Option<String>,
    /// `None` if summed, and for completions without a key.
    pub api_key: Option<UsedKey>,
    pub requests: i64,
    pub prompt_tokens: i64,
    pub completion_tokens: i64,
    pub amount: Credits,
}

statements! {
    FIND_ROWS = "SELECT (SELECT seq FROM models WHERE name = ?) AS model,
               (SELECT seq FROM api_keys WHERE id = ? AND account = ?) AS api_key";
    OF_ALL_KEYS = "SELECT g.day, g.model, CAST(0 AS BIGINT) AS api_key, m.name AS model_name, g.requests, g.prompt_tokens, g.completion_tokens, g.amount
        FROM (
            SELECT day, model, CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(prompt_tokens) AS BIGINT) AS prompt_tokens,
                   CAST(sum(completion_tokens) AS BIGINT) AS completion_tokens, CAST(sum(amount) AS BIGINT) AS amount
            FROM (SELECT day * CAST(? AS BIGINT) AS day, model * CAST(? AS BIGINT) AS model, requests, prompt_tokens, completion_tokens, amount
                  FROM spend WHERE account = ? AND day >= ? AND day <= ?) told
            WHERE (day, model) > (?, ?) GROUP BY day, model ORDER BY day, model LIMIT ?
        ) g LEFT JOIN models m ON m.seq = g.model ORDER BY g.day, g.model";
    /// Completions without a key are the total minus the sum of all keys, which is computed first. Deleted keys count as no key.
    BY_KEY = "SELECT g.day, g.model, g.api_key, m.name AS model_name, k.id AS key_id, k.name AS key_name,
               g.requests, g.prompt_tokens, g.completion_tokens, g.amount
        FROM (
            SELECT day, model, api_key, CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(prompt_tokens) AS BIGINT) AS prompt_tokens,
                   CAST(sum(completion_tokens) AS BIGINT) AS completion_tokens, CAST(sum(amount) AS BIGINT) AS amount
            FROM (
                SELECT y.day * CAST(? AS BIGINT) AS day, y.model * CAST(? AS BIGINT) AS model, y.api_key,
                       y.requests, y.prompt_tokens, y.completion_tokens, y.amount
                FROM spend_by_key y JOIN api_keys k ON k.seq = y.api_key WHERE y.account = ? AND y.day >= ? AND y.day <= ?
                UNION ALL
                SELECT day * CAST(? AS BIGINT), model * CAST(? AS BIGINT), CAST(0 AS BIGINT), requests, prompt_tokens, completion_tokens, amount
                FROM (
                    SELECT account, day, model, requests, prompt_tokens, completion_tokens, amount FROM spend
                    UNION ALL
                    SELECT y.account, y.day, y.model, CAST(-sum(y.requests) AS BIGINT), CAST(-sum(y.prompt_tokens) AS BIGINT),
                           CAST(-sum(y.completion_tokens) AS BIGINT), CAST(-sum(y.amount) AS BIGINT)
                    FROM spend_by_key y JOIN api_keys k ON k.seq = y.api_key GROUP BY y.account, y.day, y.model
                ) rest WHERE account = ? AND day >= ? AND day <= ?
            ) told
            WHERE (day, model, api_key) > (?, ?, ?)
            GROUP BY day, model, api_key HAVING sum(requests) <> 0 ORDER BY day, model, api_key LIMIT ?
        ) g LEFT JOIN models m ON m.seq = g.model LEFT JOIN api_keys k ON k.seq = g.api_key ORDER BY g.day, g.model, g.api_key";
    /// As BY_KEY, by key only, most expensive first.
    DEAREST_KEYS = "WITH by_key AS (
            SELECT g.api_key, k.id AS key_id, k.name AS key_name, g.requests, g.prompt_tokens, g.completion_tokens, g.amount
            FROM (
                SELECT api_key, CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(prompt_tokens) AS BIGINT) AS prompt_tokens,
                       CAST(sum(completion_tokens) AS BIGINT) AS completion_tokens, CAST(sum(amount) AS BIGINT) AS amount
                FROM spend_by_key WHERE account = ? AND day >= ? GROUP BY api_key
            ) g JOIN api_keys k ON k.seq = g.api_key
        ), listed AS (
            SELECT api_key, key_id, key_name, requests, prompt_tokens, completion_tokens, amount FROM by_key
            UNION ALL
            SELECT CAST(0 AS BIGINT), NULL, NULL, CAST(sum(requests) AS BIGINT), CAST(sum(prompt_tokens) AS BIGINT),
                   CAST(sum(completion_tokens) AS BIGINT), CAST(sum(amount) AS BIGINT)
            FROM (SELECT requests, prompt_tokens, completion_tokens, amount FROM spend WHERE account = ? AND day >= ?
                  UNION ALL SELECT -requests, -prompt_tokens, -completion_tokens, -amount FROM by_key) told
            HAVING sum(requests) <> 0
        )
        SELECT CAST(0 AS BIGINT) AS day, CAST(0 AS BIGINT) AS model, api_key, CAST(NULL AS TEXT) AS model_name, key_id, key_name,
               requests, prompt_tokens, completion_tokens, amount
        FROM listed ORDER BY amount DESC, requests DESC, api_key LIMIT ?";
}

/// Row numbers of a model and an API key of an account, each 0 if not named; `None` for an unknown name.
pub async fn find_rows(
    store: &Store,
    account: AccountKey,
    names: Names,
) -> Result<Option<(i64, i64)>, StoreError> {
    let Names { model, api_key } = names;
    let (has_model, has_key) = (model.is_some(), api_key.is_some());
    let row = store
        .readers()
        .fetch_one(FIND_ROWS.bind(model).bind(api_key.map(|id| id.to_bytes().to_vec())).bind(account))
        .await?;
    let (model, api_key): (Option<i64>, Option<i64>) = (row.get("model")?, row.get("api_key")?);
    if model.is_some() != has_model || api_key.is_some() != has_key {
        return Ok(None);
    }
    Ok(Some((model.unwrap_or(0), api_key.unwrap_or(0))))
}

/// Up to `limit` groups after `after`, ordered by day, then by creation of models and API keys, completions without a key first. An account
/// has one such read at a time.
pub async fn list(
    store: &Store,
    account: AccountKey,
    grouping: Grouping,
    days: Days,
    after: Place,
    limit: u32,
) -> Result<Vec<UsageRecord>, StoreError> {
    // Days before the place are not read again.
    let first = if grouping.day { days.first.max(after.day) } else { days.first };
    let sums = |query: Statement| {
        query.bind(grouping.day).bind(grouping.model).bind(account).bind(first).bind(days.last)
    };
    let query = if grouping.api_key {
        let query = sums(sums(BY_KEY.unbound()));
        query.bind(after.day).bind(after.model).bind(after.api_key)
    } else {
        sums(OF_ALL_KEYS.unbound()).bind(after.day).bind(after.model)
    };
    let rows = store.long_readers(account).fetch_sums(query.bind(limit)).await?;
    rows.iter().map(|row| read(row, grouping)).collect()
}

/// Up to `limit` API keys with completions since `first_day`, and no key, most expensive first. An account has one such read at a time.
pub async fn list_dearest_keys(
    store: &Store,
    account: AccountKey,
    first_day: i64,
    limit: u32,
) -> Result<Vec<UsageRecord>, StoreError> {
    let query = DEAREST_KEYS.bind(account).bind(first_day).bind(account).bind(first_day).bind(limit);
    let grouping = Grouping { api_key: true, ..Grouping::default() };
    let rows = store.long_readers(account).fetch_sums(query).await?;
    rows.iter().map(|row| read(row, grouping)).collect()
}

fn read(row: &Row, grouping: Grouping) -> Result<UsageRecord, StoreError> {
    Ok(UsageRecord {
        place: Place { day: row.get("day")?, model: row.get("model")?, api_key: row.get("api_key")? },
        model: row.get("model_name")?,
        api_key: if grouping.api_key { read_key(row)? } else { None },
        requests: row.get("requests")?,
        prompt_tokens: row.get("prompt_tokens")?,
        completion_tokens: row.get("completion_tokens")?,
        amount: row.get("amount")?,
    })
}

/// Reads `key_id, key_name`.
fn read_key(row: &Row) -> Result<Option<UsedKey>, StoreError> {
    let id: Option<KeyId> = row.get("key_id")?;
    id.map(|id| Ok(UsedKey { id, name: row.get("key_name")? })).transpose()
}
