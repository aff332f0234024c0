//! What accounts completed and were charged for it, added up by any of day, model and API key.

use overnight_domain::ids::KeyId;
use overnight_domain::money::Credits;
use overnight_domain::scheduler::AccountKey;

use crate::store::database::{Row, Statement, statements};
use crate::store::{Store, StoreError};

/// By which records are grouped; over the rest they are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grouping {
    /// Days, in UTC.
    pub day: bool,
    pub model: bool,
    /// API keys, and what came by none.
    pub api_key: bool,
}

/// Which days are asked about, in days since 1970, UTC: both are among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    pub first: i64,
    pub last: i64,
}

/// The place of a record in a list of one grouping: its day, and the rows of its model and API key, each 0 where it is added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Days since 1970, UTC.
    pub day: i64,
    /// The row of the model.
    pub model: i64,
    /// The row of the API key; 0 for none, too.
    pub api_key: i64,
}

impl Place {
    /// Before every record.
    pub const BEGIN: Self = Self { day: i64::MIN, model: i64::MIN, api_key: i64::MIN };
}

/// An API key, as it is named where it may not work any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedKey {
    pub id: KeyId,
    pub name: Option<String>,
}

/// A model and an API key by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    pub model: Option<String>,
    pub api_key: Option<KeyId>,
}

/// What an account completed of one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRecord {
    /// Where it stands in its list.
    pub place: Place,
    /// The name of the model; `None` where models are added up.
    pub model: Option<String>,
    /// The API key; `None` where keys are added up, and of what came by none.
    pub api_key: Option<UsedKey>,
    pub requests: i64,
    /// Tokens they read.
    pub prompt_tokens: i64,
    /// Tokens they wrote.
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
    /// What came by no key is what there is beyond that of all keys, which is added up in the order of its rows first. Keys that are gone count
    /// as none.
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
    /// As BY_KEY, of keys alone, the dearest first.
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

/// The rows of a model and of an API key of an account, each 0 where it is not named; `None` where there is none of a name.
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

/// Up to `limit` groups of what an account completed on some days, after the one at `after`: in the order of days, then of models and
/// API keys as they were made, those of no key first. One such read of an account is done at a time.
pub async fn list(
    store: &Store,
    account: AccountKey,
    grouping: Grouping,
    days: Days,
    after: Place,
    limit: u32,
) -> Result<Vec<UsageRecord>, StoreError> {
    // Of what lies before the place nothing is read again.
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

/// Up to `limit` of the API keys by which an account completed anything from `first_day` on, and none of them, the dearest first. One
/// such read of an account is done at a time.
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
