//! Batches as people look through them.

use overnight_domain::batches::BatchStatus;
use overnight_domain::ids::BatchId;
use overnight_domain::money::Credits;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;

use crate::store::batches::reads::read;
use crate::store::database::statements;
use crate::store::lists::{self, ListPage, Order, PAGE_ROWS, Question, Search};
use crate::store::{Store, StoreError};

/// How many batches are looked through for a page.
const LOOKED_MAX: u32 = 2_000;

/// Up to how many live batches are counted.
const LIVE_COUNTED_MAX: u32 = 100;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    pub status: Option<BatchStatus>,
    /// Those whose metadata hold this.
    pub search: Option<Search>,
}

statements! {
    /// What is searched for is bound as [`lists::bind_search`] says.
    LIST = {
        sqlite: "SELECT seq, id, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata
        FROM batches WHERE account = ? AND seq < ? AND seq >= ?
          AND CASE WHEN cancelled_at IS NOT NULL THEN 3 WHEN completed_at IS NOT NULL THEN 2
                   WHEN in_progress_at IS NOT NULL THEN 1 ELSE 0 END BETWEEN ? AND ?
          AND (? = 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0
            OR ((instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0)
              AND (instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0)))
        ORDER BY seq DESC LIMIT ?",
        postgres: "SELECT seq, id, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata
        FROM batches WHERE account = ? AND seq < ? AND seq >= ?
          AND CASE WHEN cancelled_at IS NOT NULL THEN 3 WHEN completed_at IS NOT NULL THEN 2
                   WHEN in_progress_at IS NOT NULL THEN 1 ELSE 0 END BETWEEN ? AND ?
          AND (? = 0 OR position(? IN metadata) > 0 OR position(? IN metadata) > 0 OR position(? IN metadata) > 0
            OR ((position(? IN metadata) > 0 OR position(? IN metadata) > 0 OR position(? IN metadata) > 0)
              AND (position(? IN metadata) > 0 OR position(? IN metadata) > 0 OR position(? IN metadata) > 0)))
        ORDER BY seq DESC LIMIT ?",
    };
    /// The last row that is looked at for a page.
    FLOOR = "SELECT seq FROM batches WHERE account = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?";
    /// The newest that have not ended.
    LIST_LIVE = "SELECT seq, id, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata
        FROM batches WHERE account = ? AND completed_at IS NULL AND cancelled_at IS NULL ORDER BY seq DESC LIMIT ?";
    FIND_ID = "SELECT id FROM batches WHERE seq = ?";
    COUNT_LIVE = "SELECT count(*) AS count FROM (SELECT 1 FROM batches
        WHERE account = ? AND completed_at IS NULL AND cancelled_at IS NULL LIMIT ?) v";
    /// What was charged for a batch's requests, and what is held for those that live.
    COST = "SELECT CAST(coalesce(sum(l.amount), 0) AS BIGINT) AS amount,
               CAST(coalesce(sum(CASE WHEN rs.state < 3 /* live */ THEN rs.hold ELSE 0 END), 0) AS BIGINT) AS held
        FROM request_states rs LEFT JOIN ledger l ON l.result = rs.result_seq AND l.result IS NOT NULL
        WHERE rs.batch = ? AND rs.batch IS NOT NULL";
    COUNT_FAILED_WITH = "SELECT count(*) AS count FROM request_states rs JOIN results t ON t.seq = rs.result_seq
        WHERE rs.batch = ? AND rs.batch IS NOT NULL AND rs.state = 4 /* failed */ AND t.body = ?";
}

/// The first and the last number that [`LIST`] gives to a status.
const fn codes(status: Option<BatchStatus>) -> (i64, i64) {
    match status {
        None => (0, 3),
        Some(BatchStatus::Registered) => (0, 0),
        Some(BatchStatus::InProgress) => (1, 1),
        Some(BatchStatus::Completed) => (2, 2),
        Some(BatchStatus::Cancelled) => (3, 3),
    }
}

/// A page of batches behind the one in row `before`, the newest first; 2,000 are looked through at most.
pub async fn list_newest(
    store: &Store,
    account: AccountKey,
    filter: &ListFilter,
    before: Option<i64>,
) -> Result<ListPage<BatchRecord>, StoreError> {
    list_newest_of(store, account, filter, before, LOOKED_MAX).await
}

/// The same with so many looked through at most.
pub(in crate::store) async fn list_newest_of(
    store: &Store,
    account: AccountKey,
    filter: &ListFilter,
    before: Option<i64>,
    looked_max: u32,
) -> Result<ListPage<BatchRecord>, StoreError> {
    let (first, last) = codes(filter.status);
    let question = Question {
        order: Order::NewestFirst,
        before,
        rows_max: PAGE_ROWS,
        looked_max,
        floor: |behind, count| FLOOR.bind(account).bind(behind).bind(count - 1),
        rows: |behind, floor, limit| {
            let query = LIST.bind(account).bind(behind).bind(floor).bind(first).bind(last);
            lists::bind_search(filter.search.as_ref(), query).bind(limit as i64)
        },
    };
    lists::page(&store.long_readers(account), filter.search.as_ref(), question, read).await
}

/// The identifier of the batch in row `seq`.
pub async fn find_id(store: &Store, seq: i64) -> Result<Option<BatchId>, StoreError> {
    let row = store.readers().fetch_optional(FIND_ID.bind(seq)).await?;
    row.map(|row| row.get("id")).transpose()
}

/// The newest batches of an account that have not ended, `limit` at most.
pub async fn list_live(
    store: &Store,
    account: AccountKey,
    limit: u32,
) -> Result<Vec<BatchRecord>, StoreError> {
    let rows = store.readers().fetch_all(LIST_LIVE.bind(account).bind(limit)).await?;
    rows.iter().map(read).collect()
}

/// How many batches of an account have neither completed nor been cancelled; more than a hundred count as a hundred.
pub async fn count_live(store: &Store, account: AccountKey) -> Result<i64, StoreError> {
    let query = COUNT_LIVE.bind(account).bind(LIVE_COUNTED_MAX);
    store.readers().fetch_one(query).await?.get("count")
}

/// How many requests of the batch of `account` in row `batch` failed with this `result_body`: reads a row for each of them.
pub async fn count_failed_with(
    store: &Store,
    account: AccountKey,
    batch: i64,
    body: Vec<u8>,
) -> Result<i64, StoreError> {
    let query = COUNT_FAILED_WITH.bind(batch).bind(body);
    store.long_readers(account).fetch_one(query).await?.get("count")
}

/// What the requests of a batch cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchCost {
    /// What was charged for those that completed.
    pub charged: Credits,
    /// What is held for those that live: the most that they may cost.
    pub held: Credits,
}

/// What the requests of the batch of `account` in row `batch` cost: reads a row for each of them.
pub async fn cost(store: &Store, account: AccountKey, batch: i64) -> Result<BatchCost, StoreError> {
    let row = store.long_readers(account).fetch_one(COST.bind(batch)).await?;
    let charged: i64 = row.get("amount")?;
    Ok(BatchCost { charged: Credits::from_nanos(-charged), held: row.get("held")? })
}
