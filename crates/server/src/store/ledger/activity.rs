//! What ended of each account's requests, by quarter of an hour.

use std::collections::BTreeMap;

use overnight_domain::activity::{ActivityRecord, quarter_of};
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;

use crate::store::database::{Row, Tx, Value, statements};
use crate::store::ledger::spend::Spent;
use crate::store::{Store, StoreError};

/// Whose, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) struct Key {
    account: i64,
    quarter: i64,
}

impl Key {
    /// The quarter of an hour of `now`.
    pub(in crate::store) const fn new(account: i64, now: i64) -> Self {
        Self { account, quarter: quarter_of(now) }
    }
}

/// What ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::store) struct Ended {
    completed: i64,
    failed: i64,
    cancelled: i64,
    prompt_tokens: i64,
    completion_tokens: i64,
    amount: i64,
}

impl Ended {
    /// Requests that completed.
    pub(in crate::store) const fn completed(spent: &Spent) -> Self {
        let Spent { requests, prompt_tokens, completion_tokens, amount } = *spent;
        Self { completed: requests, failed: 0, cancelled: 0, prompt_tokens, completion_tokens, amount }
    }

    /// A request that failed or was cancelled.
    pub(in crate::store) fn without_charge(status: RequestStatus) -> Self {
        let failed = i64::from(status == RequestStatus::Failed);
        let cancelled = i64::from(status == RequestStatus::Cancelled);
        Self { failed, cancelled, ..Self::default() }
    }

    /// How many requests ended, by outcome.
    pub(in crate::store) const fn outcomes(&self) -> [(&'static str, i64); 3] {
        [("completed", self.completed), ("failed", self.failed), ("cancelled", self.cancelled)]
    }

    pub(in crate::store) const fn add(&mut self, other: &Self) {
        self.completed += other.completed;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
        self.amount = self.amount.saturating_add(other.amount);
    }
}

statements! {
    ADD over [Integer, Integer, Integer, Integer, Integer, Integer, Integer, Integer] = {
        sqlite: "INSERT INTO activity (account, quarter, completed, failed, cancelled, prompt_tokens, completion_tokens, amount)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            ON CONFLICT (account, quarter) DO UPDATE SET completed = activity.completed + excluded.completed,
                failed = activity.failed + excluded.failed, cancelled = activity.cancelled + excluded.cancelled,
                prompt_tokens = activity.prompt_tokens + excluded.prompt_tokens,
                completion_tokens = activity.completion_tokens + excluded.completion_tokens,
                amount = activity.amount + excluded.amount",
        postgres: "INSERT INTO activity (account, quarter, completed, failed, cancelled, prompt_tokens, completion_tokens, amount)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                                 $7::bigint[], $8::bigint[])
            ON CONFLICT (account, quarter) DO UPDATE SET completed = activity.completed + excluded.completed,
                failed = activity.failed + excluded.failed, cancelled = activity.cancelled + excluded.cancelled,
                prompt_tokens = activity.prompt_tokens + excluded.prompt_tokens,
                completion_tokens = activity.completion_tokens + excluded.completion_tokens,
                amount = activity.amount + excluded.amount",
    };
    LIST = "SELECT quarter, completed, failed, cancelled, prompt_tokens, completion_tokens, amount
        FROM activity WHERE account = ? AND quarter >= ? ORDER BY quarter";
}

/// Adds to each quarter, in the order of their keys: in which everybody locks them.
pub(in crate::store) async fn add(ended: &BTreeMap<Key, Ended>, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let values = ended.iter().flat_map(|(key, ended)| {
        let Ended { completed, failed, cancelled, prompt_tokens, completion_tokens, amount } = *ended;
        [key.account, key.quarter, completed, failed, cancelled, prompt_tokens, completion_tokens, amount]
            .map(Value::from)
    });
    tx.execute(ADD.over([], values.collect())).await.map(drop)
}

/// What ended of an account's requests from `first_quarter` on, the oldest quarter of an hour first. One in which nothing
/// ended is not there.
pub async fn list(
    store: &Store,
    account: AccountKey,
    first_quarter: i64,
) -> Result<Vec<ActivityRecord>, StoreError> {
    store.readers().fetch_all(LIST.bind(account).bind(first_quarter)).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<ActivityRecord, StoreError> {
    Ok(ActivityRecord {
        quarter: row.get("quarter")?,
        completed: row.get("completed")?,
        failed: row.get("failed")?,
        cancelled: row.get("cancelled")?,
        prompt_tokens: row.get("prompt_tokens")?,
        completion_tokens: row.get("completion_tokens")?,
        amount: row.get("amount")?,
    })
}
