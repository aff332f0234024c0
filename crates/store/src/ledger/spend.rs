//! Completions and charges of accounts, by day and model.

use std::collections::BTreeMap;

use overnight_domain::money::Credits;
use overnight_domain::scheduler::{AccountKey, QueuePartition};

use crate::database::{Row, Tx, Value, statements};
use crate::{Store, StoreError};

const DAY_MS: i64 = 86_400_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(super) account: i64,
    pub(super) day: i64,
    pub(super) model: i64,
}

impl Key {
    /// For the day of `now`, in UTC.
    pub(crate) const fn new(partition: QueuePartition, now: i64) -> Self {
        Self { account: partition.account.0, day: day_of(now), model: partition.model.0 }
    }
}

/// Days since 1970, UTC.
pub const fn day_of(now: i64) -> i64 {
    now.div_euclid(DAY_MS)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Spent {
    pub(crate) requests: i64,
    pub(crate) prompt_tokens: i64,
    pub(crate) completion_tokens: i64,
    pub(crate) amount: i64,
}

impl Spent {
    pub(crate) const fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
        self.amount = self.amount.saturating_add(other.amount);
    }
}

statements! {
    ADD over [Integer, Integer, Integer, Integer, Integer, Integer, Integer] = {
        sqlite: "INSERT INTO spend (account, day, model, requests, prompt_tokens, completion_tokens, amount)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (account, day, model) DO UPDATE SET requests = spend.requests + excluded.requests,
                prompt_tokens = spend.prompt_tokens + excluded.prompt_tokens,
                completion_tokens = spend.completion_tokens + excluded.completion_tokens,
                amount = spend.amount + excluded.amount",
        postgres: "INSERT INTO spend (account, day, model, requests, prompt_tokens, completion_tokens, amount)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
            ON CONFLICT (account, day, model) DO UPDATE SET requests = spend.requests + excluded.requests,
                prompt_tokens = spend.prompt_tokens + excluded.prompt_tokens,
                completion_tokens = spend.completion_tokens + excluded.completion_tokens,
                amount = spend.amount + excluded.amount",
    };
    TOKENS_OF_DAY = "SELECT CAST(coalesce(sum(prompt_tokens + completion_tokens), 0) AS BIGINT) AS tokens
        FROM spend WHERE account = ? AND day = ?";
    SUM = "SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) AS amount, CAST(coalesce(sum(CASE WHEN day = ? THEN amount END), 0) AS BIGINT) AS amount_of_day,
               CAST(coalesce(sum(requests), 0) AS BIGINT) AS requests, CAST(coalesce(sum(prompt_tokens), 0) AS BIGINT) AS prompt_tokens,
               CAST(coalesce(sum(completion_tokens), 0) AS BIGINT) AS completion_tokens
        FROM spend WHERE account = ?";
    LIST = "SELECT s.day, m.name AS model, s.requests, s.prompt_tokens, s.completion_tokens, s.amount
        FROM spend s JOIN models m ON m.seq = s.model WHERE s.account = ? AND s.day >= ? ORDER BY s.day, m.name";
}

/// Every node locks days in the order of their keys.
pub(crate) async fn add(spent: &BTreeMap<Key, Spent>, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let values = spent.iter().flat_map(|(key, spent)| {
        let Spent { requests, prompt_tokens, completion_tokens, amount } = *spent;
        [key.account, key.day, key.model, requests, prompt_tokens, completion_tokens, amount].map(Value::from)
    });
    tx.execute(ADD.over([], values.collect())).await.map(drop)
}

pub async fn tokens_of_day(store: &Store, account: AccountKey, day: i64) -> Result<i64, StoreError> {
    store.readers().fetch_one(TOKENS_OF_DAY.bind(account).bind(day)).await?.get("tokens")
}

pub(crate) async fn tokens_of_day_in(account: i64, day: i64, tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    let rows = tx.fetch(TOKENS_OF_DAY.bind(account).bind(day)).await?;
    rows.first().ok_or(StoreError::Damaged("a sum"))?.get("tokens")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendSum {
    pub requests: i64,
    pub prompt_tokens: i64,
    pub completion_tokens: i64,
    pub amount: Credits,
    pub amount_of_day: Credits,
}

/// Sums all completions; `amount_of_day` is of `day`.
pub async fn sum(store: &Store, account: AccountKey, day: i64) -> Result<SpendSum, StoreError> {
    let row = store.long_readers(account).fetch_one(SUM.bind(day).bind(account)).await?;
    Ok(SpendSum {
        requests: row.get("requests")?,
        prompt_tokens: row.get("prompt_tokens")?,
        completion_tokens: row.get("completion_tokens")?,
        amount: row.get("amount")?,
        amount_of_day: row.get("amount_of_day")?,
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendRecord {
    /// Days since 1970, UTC.
    pub day: i64,
    pub model: String,
    pub requests: i64,
    pub prompt_tokens: i64,
    pub completion_tokens: i64,
    pub amount: Credits,
}

/// From `first_day` on, oldest day first.
pub async fn list(
    store: &Store,
    account: AccountKey,
    first_day: i64,
) -> Result<Vec<SpendRecord>, StoreError> {
    store.readers().fetch_all(LIST.bind(account).bind(first_day)).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<SpendRecord, StoreError> {
    Ok(SpendRecord {
        day: row.get("day")?,
        model: row.get("model")?,
        requests: row.get("requests")?,
        prompt_tokens: row.get("prompt_tokens")?,
        completion_tokens: row.get("completion_tokens")?,
        amount: row.get("amount")?,
    })
}
