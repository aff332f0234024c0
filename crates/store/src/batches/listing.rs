//! Batches for people to look through.

use overnight_domain::batches::BatchStatus;
use overnight_domain::ids::BatchId;
use overnight_domain::money::Credits;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;

use crate::batches::reads::read;
use crate::database::statements;
use crate::direction::Direction;
use crate::lists::{self, ListPage, PAGE_ROWS, Question, Search};
use crate::{Store, StoreError};

/// Batches examined for a page.
const LOOKED_MAX: u32 = 2_000;

/// Live batches are counted up to this number.
const LIVE_COUNTED_MAX: u32 = 100;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    pub status: Option<BatchStatus>,
    pub search: Option<Search>,
}

statements! {
    /// Search values are bound as in [`lists::bind_search`].
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
    /// The last row examined for a page.
    FLOOR = "SELECT seq FROM batches WHERE account = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?";
    LIST_LIVE = "SELECT seq, id, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata
        FROM batches WHERE account = ? AND completed_at IS NULL AND cancelled_at IS NULL ORDER BY seq DESC LIMIT ?";
    FIND_ID = "SELECT id FROM batches WHERE seq = ?";
    COUNT_LIVE = "SELECT count(*) AS count FROM (SELECT 1 FROM batches
        WHERE account = ? AND completed_at IS NULL AND cancelled_at IS NULL LIMIT ?) v";
    /// Charges of a batch's requests, and holds of its live ones.
    COST = "SELECT CAST(coalesce(sum(l.amount), 0) AS BIGINT) AS amount,
               CAST(coalesce(sum(CASE WHEN rs.state < 3 /* live */ THEN rs.hold ELSE 0 END), 0) AS BIGINT) AS held
        FROM request_states rs LEFT JOIN ledger l ON l.result = rs.result_seq AND l.result IS NOT NULL
        WHERE rs.batch = ? AND rs.batch IS NOT NULL";
    COUNT_FAILED_WITH = "SELECT count(*) AS count FROM request_states rs JOIN results t ON t.seq = rs.result_seq
        WHERE rs.batch = ? AND rs.batch IS NOT NULL AND rs.state = 4 /* failed */ AND t.body = ?";
}

/// The range of numbers that [`LIST`] gives to a status.
const fn codes(status: Option<BatchStatus>) -> (i64, i64) {
    match status {
        None => (0, 3),
        Some(BatchStatus::Registered) => (0, 0),
        Some(BatchStatus::InProgress) => (1, 1),
        Some(BatchStatus::Completed) => (2, 2),
        Some(BatchStatus::Cancelled) => (3, 3),
    }
}

/// A page of batches older than row `before`, newest first; examines at most 2,000.
pub async fn list_newest(
    store: &Store,
    account: AccountKey,
    filter: &ListFilter,
    before: Option<i64>,
) -> Result<ListPage<BatchRecord>, StoreError> {
    list_newest_of(store, account, filter, before, LOOKED_MAX).await
}

/// As [`list_newest`], examining at most `looked_max`.
pub(crate) async fn list_newest_of(
    store: &Store,
    account: AccountKey,
    filter: &ListFilter,
    before: Option<i64>,
    looked_max: u32,
) -> Result<ListPage<BatchRecord>, StoreError> {
    let (first, last) = codes(filter.status);
    let question = Question {
        direction: Direction::NewestFirst,
        wanted: None,
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

pub async fn find_id(store: &Store, seq: i64) -> Result<Option<BatchId>, StoreError> {
    let row = store.readers().fetch_optional(FIND_ID.bind(seq)).await?;
    row.map(|row| row.get("id")).transpose()
}

/// Newest first.
pub async fn list_live(
    store: &Store,
    account: AccountKey,
    limit: u32,
) -> Result<Vec<BatchRecord>, StoreError> {
    let rows = store.readers().fetch_all(LIST_LIVE.bind(account).bind(limit)).await?;
    rows.iter().map(read).collect()
}

/// Live batches, counted up to 100.
pub async fn count_live(store: &Store, account: AccountKey) -> Result<i64, StoreError> {
    let query = COUNT_LIVE.bind(account).bind(LIVE_COUNTED_MAX);
    store.readers().fetch_one(query).await?.get("count")
}

/// Requests of a batch, by row number, that failed with this `result_body`; reads a row for each.
pub async fn count_failed_with(
    store: &Store,
    account: AccountKey,
    batch: i64,
    body: Vec<u8>,
) -> Result<i64, StoreError> {
    let query = COUNT_FAILED_WITH.bind(batch).bind(body);
    let rows = store.long_readers(account).fetch_sums(query).await?;
    rows.first().ok_or(StoreError::Damaged("a count of failed requests"))?.get("count")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchCost {
    /// For completed requests.
    pub charged: Credits,
    /// For live requests: their maximum cost.
    pub held: Credits,
}

/// Reads a row for each request; `batch` is a row number.
pub async fn cost(store: &Store, account: AccountKey, batch: i64) -> Result<BatchCost, StoreError> {
    let rows = store.long_readers(account).fetch_sums(COST.bind(batch)).await?;
    let row = rows.first().ok_or(StoreError::Damaged("the cost of a batch"))?;
    let charged: i64 = row.get("amount")?;
    Ok(BatchCost { charged: Credits::from_nanos(-charged), held: row.get("held")? })
}
