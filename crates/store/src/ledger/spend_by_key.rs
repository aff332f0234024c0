//! Spend by day, model and API key: a part of spend by day and model; completions without a key are the rest.

use std::collections::{BTreeMap, BTreeSet};

use crate::StoreError;
use crate::database::{Row, Tx, Value, statements};
use crate::ledger::spend::{self, Spent};

/// Rows of an account per day. Keys can be made and revoked without end, and each would leave rows: completions beyond count as without a
/// key.
pub(crate) const ROWS_OF_DAY_MAX: i64 = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) of: spend::Key,
    /// Row number.
    pub(crate) api_key: i64,
}

statements! {
    /// Adds to existing rows, and returns them.
    ADD over [Integer, Integer, Integer, Integer, Integer, Integer, Integer, Integer] = {
        sqlite: "UPDATE spend_by_key SET requests = requests + ?5, prompt_tokens = prompt_tokens + ?6,
                   completion_tokens = completion_tokens + ?7, amount = amount + ?8
            WHERE account = ?1 AND day = ?2 AND model = ?3 AND api_key = ?4 RETURNING account, day, model, api_key",
        postgres: "UPDATE spend_by_key s SET requests = s.requests + v.requests, prompt_tokens = s.prompt_tokens + v.prompt_tokens,
                   completion_tokens = s.completion_tokens + v.completion_tokens, amount = s.amount + v.amount
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
                AS v(account, day, model, api_key, requests, prompt_tokens, completion_tokens, amount)
            WHERE s.account = v.account AND s.day = v.day AND s.model = v.model AND s.api_key = v.api_key
            RETURNING s.account, s.day, s.model, s.api_key",
    };
    /// Counts up to a limit.
    COUNT_OF_DAY over [Integer, Integer] = {
        sqlite: "SELECT ?2 AS account, ?3 AS day, count(*) AS count
            FROM (SELECT 1 FROM spend_by_key WHERE account = ?2 AND day = ?3 LIMIT ?1) v",
        postgres: "SELECT v.account, v.day,
                   (SELECT count(*) FROM (SELECT 1 FROM spend_by_key s WHERE s.account = v.account AND s.day = v.day LIMIT $1) c) AS count
            FROM unnest($2::bigint[], $3::bigint[]) AS v(account, day)",
    };
    INSERT over [Integer, Integer, Integer, Integer, Integer, Integer, Integer, Integer] = {
        sqlite: "INSERT INTO spend_by_key (account, day, model, api_key, requests, prompt_tokens, completion_tokens, amount)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        postgres: "INSERT INTO spend_by_key (account, day, model, api_key, requests, prompt_tokens, completion_tokens, amount)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])",
    };
}

/// Adds to each row, and creates missing ones as far as there is room. The accounts are locked already, so no other node creates any.
pub(crate) async fn add(spent: &BTreeMap<Key, Spent>, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let rows = tx.fetch(ADD.over([], values(spent))).await?;
    if rows.len() == spent.len() {
        return Ok(());
    }
    let known = rows.iter().map(read_key).collect::<Result<BTreeSet<Key>, _>>()?;
    let missing = spent.iter().filter(|(key, _)| !known.contains(key));
    let mut days: BTreeMap<(i64, i64), Vec<(&Key, &Spent)>> = BTreeMap::new();
    for (key, spent) in missing {
        days.entry((key.of.account, key.of.day)).or_default().push((key, spent));
    }
    let counted = days.keys().flat_map(|(account, day)| [*account, *day].map(Value::from)).collect();
    let counts = tx.fetch(COUNT_OF_DAY.over([ROWS_OF_DAY_MAX.into()], counted)).await?;
    let counts = counts.iter().map(read_count).collect::<Result<BTreeMap<_, _>, _>>()?;
    let mut new = Vec::new();
    for (day, rows) in days {
        let count = counts.get(&day).ok_or(StoreError::Damaged("a count"))?;
        new.extend(rows.into_iter().take(usize::try_from(ROWS_OF_DAY_MAX - count).unwrap_or(0)));
    }
    tx.execute(INSERT.over([], values(new))).await.map(drop)
}

fn values<'s>(spent: impl IntoIterator<Item = (&'s Key, &'s Spent)>) -> Vec<Value> {
    let row = |(key, spent): (&Key, &Spent)| {
        let Key { of: spend::Key { account, day, model }, api_key } = *key;
        let Spent { requests, prompt_tokens, completion_tokens, amount } = *spent;
        [account, day, model, api_key, requests, prompt_tokens, completion_tokens, amount].map(Value::from)
    };
    spent.into_iter().flat_map(row).collect()
}

/// Reads `account, day, model, api_key`.
fn read_key(row: &Row) -> Result<Key, StoreError> {
    let of = spend::Key { account: row.get("account")?, day: row.get("day")?, model: row.get("model")? };
    Ok(Key { of, api_key: row.get("api_key")? })
}

/// Reads `account, day, count`.
fn read_count(row: &Row) -> Result<((i64, i64), i64), StoreError> {
    Ok(((row.get("account")?, row.get("day")?), row.get("count")?))
}
