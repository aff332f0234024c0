//! Ended requests of each account, by quarter of an hour and its parts.

use std::collections::BTreeMap;

use overnight_domain::activity::{ActivityPart, ActivityRecord, PARTS, part_of, quarter_of};
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;

use crate::database::{Row, Tx, Value, statements};
use crate::ledger::spend::Spent;
use crate::{Store, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    account: i64,
    quarter: i64,
}

impl Key {
    /// For the quarter of an hour of `now`.
    pub(crate) const fn new(account: i64, now: i64) -> Self {
        Self { account, quarter: quarter_of(now) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ended {
    whole: ActivityPart,
    /// The prompts' part of the tokens.
    prompt_tokens: i64,
    /// Ends in the parts before the last.
    earlier: [ActivityPart; PARTS - 1],
}

impl Ended {
    /// `now` is in milliseconds.
    pub(crate) fn add_completed(&mut self, spent: &Spent, now: i64) {
        let Spent { requests: completed, prompt_tokens, completion_tokens, amount } = *spent;
        let tokens = prompt_tokens.saturating_add(completion_tokens);
        self.prompt_tokens = self.prompt_tokens.saturating_add(prompt_tokens);
        self.add(&ActivityPart { completed, tokens, amount, ..ActivityPart::default() }, now);
    }

    /// For a request that failed or was cancelled; `now` is in milliseconds.
    pub(crate) fn add_without_charge(&mut self, status: RequestStatus, now: i64) {
        let failed = i64::from(status == RequestStatus::Failed);
        let cancelled = i64::from(status == RequestStatus::Cancelled);
        self.add(&ActivityPart { failed, cancelled, ..ActivityPart::default() }, now);
    }

    pub(crate) const fn outcomes(&self) -> [(&'static str, i64); 3] {
        let ActivityPart { completed, failed, cancelled, .. } = self.whole;
        [("completed", completed), ("failed", failed), ("cancelled", cancelled)]
    }

    fn add(&mut self, part: &ActivityPart, now: i64) {
        self.whole.add(part);
        if let Some(earlier) = self.earlier.get_mut(part_of(now)) {
            earlier.add(part);
        }
    }
}

statements! {
    ADD over [
        Integer, Integer, Integer, Integer, Integer, Integer, Integer, Integer, Integer,
        Integer, Integer, Integer, Integer, Integer, Integer, Integer, Integer, Integer
    ] = {
        sqlite: "INSERT INTO activity (account, quarter, completed, failed, cancelled, prompt_tokens, completion_tokens, amount,
                completed_1, failed_1, cancelled_1, tokens_1, amount_1,
                completed_2, failed_2, cancelled_2, tokens_2, amount_2)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
            ON CONFLICT (account, quarter) DO UPDATE SET completed = activity.completed + excluded.completed,
                failed = activity.failed + excluded.failed, cancelled = activity.cancelled + excluded.cancelled,
                prompt_tokens = activity.prompt_tokens + excluded.prompt_tokens,
                completion_tokens = activity.completion_tokens + excluded.completion_tokens,
                amount = activity.amount + excluded.amount,
                completed_1 = activity.completed_1 + excluded.completed_1, failed_1 = activity.failed_1 + excluded.failed_1,
                cancelled_1 = activity.cancelled_1 + excluded.cancelled_1, tokens_1 = activity.tokens_1 + excluded.tokens_1,
                amount_1 = activity.amount_1 + excluded.amount_1,
                completed_2 = activity.completed_2 + excluded.completed_2, failed_2 = activity.failed_2 + excluded.failed_2,
                cancelled_2 = activity.cancelled_2 + excluded.cancelled_2, tokens_2 = activity.tokens_2 + excluded.tokens_2,
                amount_2 = activity.amount_2 + excluded.amount_2",
        postgres: "INSERT INTO activity (account, quarter, completed, failed, cancelled, prompt_tokens, completion_tokens, amount,
                completed_1, failed_1, cancelled_1, tokens_1, amount_1,
                completed_2, failed_2, cancelled_2, tokens_2, amount_2)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
                $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[])
            ON CONFLICT (account, quarter) DO UPDATE SET completed = activity.completed + excluded.completed,
                failed = activity.failed + excluded.failed, cancelled = activity.cancelled + excluded.cancelled,
                prompt_tokens = activity.prompt_tokens + excluded.prompt_tokens,
                completion_tokens = activity.completion_tokens + excluded.completion_tokens,
                amount = activity.amount + excluded.amount,
                completed_1 = activity.completed_1 + excluded.completed_1, failed_1 = activity.failed_1 + excluded.failed_1,
                cancelled_1 = activity.cancelled_1 + excluded.cancelled_1, tokens_1 = activity.tokens_1 + excluded.tokens_1,
                amount_1 = activity.amount_1 + excluded.amount_1,
                completed_2 = activity.completed_2 + excluded.completed_2, failed_2 = activity.failed_2 + excluded.failed_2,
                cancelled_2 = activity.cancelled_2 + excluded.cancelled_2, tokens_2 = activity.tokens_2 + excluded.tokens_2,
                amount_2 = activity.amount_2 + excluded.amount_2",
    };
    LIST = "SELECT quarter, completed, failed, cancelled, prompt_tokens, completion_tokens, amount,
            completed_1, failed_1, cancelled_1, tokens_1, amount_1,
            completed_2, failed_2, cancelled_2, tokens_2, amount_2
        FROM activity WHERE account = ? AND quarter >= ? ORDER BY quarter";
    /// By the key of the table, one account after another.
    LIST_ALL = "SELECT t.quarter, CAST(sum(t.completed) AS BIGINT) AS completed, CAST(sum(t.failed) AS BIGINT) AS failed,
            CAST(sum(t.cancelled) AS BIGINT) AS cancelled, CAST(sum(t.prompt_tokens) AS BIGINT) AS prompt_tokens,
            CAST(sum(t.completion_tokens) AS BIGINT) AS completion_tokens, CAST(sum(t.amount) AS BIGINT) AS amount,
            CAST(sum(t.completed_1) AS BIGINT) AS completed_1, CAST(sum(t.failed_1) AS BIGINT) AS failed_1,
            CAST(sum(t.cancelled_1) AS BIGINT) AS cancelled_1, CAST(sum(t.tokens_1) AS BIGINT) AS tokens_1,
            CAST(sum(t.amount_1) AS BIGINT) AS amount_1, CAST(sum(t.completed_2) AS BIGINT) AS completed_2,
            CAST(sum(t.failed_2) AS BIGINT) AS failed_2, CAST(sum(t.cancelled_2) AS BIGINT) AS cancelled_2,
            CAST(sum(t.tokens_2) AS BIGINT) AS tokens_2, CAST(sum(t.amount_2) AS BIGINT) AS amount_2
        FROM accounts a CROSS JOIN activity t WHERE t.account = a.seq AND t.quarter >= ?
        GROUP BY t.quarter ORDER BY t.quarter";
}

/// Every node locks quarters in the order of their keys.
pub(crate) async fn add(ended: &BTreeMap<Key, Ended>, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let values = ended.iter().flat_map(|(key, Ended { whole, prompt_tokens, earlier: [first, second] })| {
        let ActivityPart { completed, failed, cancelled, tokens, amount } = *whole;
        let completion_tokens = tokens.saturating_sub(*prompt_tokens);
        let quarter = [key.account, key.quarter];
        let sums = [completed, failed, cancelled, *prompt_tokens, completion_tokens, amount];
        let of_part =
            |part: &ActivityPart| [part.completed, part.failed, part.cancelled, part.tokens, part.amount];
        let all = quarter.into_iter().chain(sums).chain(of_part(first)).chain(of_part(second));
        all.map(Value::from).collect::<Vec<_>>()
    });
    tx.execute(ADD.over([], values.collect())).await.map(drop)
}

/// From `first_quarter` on, oldest first; quarters without ends are left out.
pub async fn list(
    store: &Store,
    account: AccountKey,
    first_quarter: i64,
) -> Result<Vec<ActivityRecord>, StoreError> {
    store.readers().fetch_all(LIST.bind(account).bind(first_quarter)).await?.iter().map(read).collect()
}

/// Sums over all accounts.
pub async fn list_all(store: &Store, first_quarter: i64) -> Result<Vec<ActivityRecord>, StoreError> {
    store.readers().fetch_all(LIST_ALL.bind(first_quarter)).await?.iter().map(read).collect()
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
        earlier: [
            ActivityPart {
                completed: row.get("completed_1")?,
                failed: row.get("failed_1")?,
                cancelled: row.get("cancelled_1")?,
                tokens: row.get("tokens_1")?,
                amount: row.get("amount_1")?,
            },
            ActivityPart {
                completed: row.get("completed_2")?,
                failed: row.get("failed_2")?,
                cancelled: row.get("cancelled_2")?,
                tokens: row.get("tokens_2")?,
                amount: row.get("amount_2")?,
            },
        ],
    })
}
