//! Reading batches.

use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;

use crate::database::{Row, statements};
use crate::requests::Direction;
use crate::{Store, StoreError, row};

/// Batches on a page.
pub const PAGE_ROWS: usize = 128;

statements! {
    FIND = "SELECT seq, id, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata
        FROM batches WHERE id = ? AND account = ?";
    /// Ends before a batch that is being created, so that a client that asks for later batches misses none.
    PAGE = "SELECT seq, id, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata
        FROM batches WHERE account = ? AND seq > ?
            AND seq < coalesce((SELECT min(seq + 0) FROM batches WHERE account = ? AND grouping_at > 0), 9223372036854775807)
        ORDER BY seq LIMIT ?";
    PAGE_FROM_NEWEST = "SELECT seq, id, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata
        FROM batches WHERE account = ? AND seq < ? ORDER BY seq DESC LIMIT ?";
    LIST_MEMBERS = "SELECT ids FROM batch_members WHERE batch = ? ORDER BY place";
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchPage {
    /// In the order that was asked for.
    pub rows: Vec<(i64, BatchRecord)>,
    /// Where the next page continues; `None` at the end.
    pub next: Option<i64>,
}

pub async fn find(
    store: &Store,
    account: AccountKey,
    id: BatchId,
) -> Result<Option<(i64, BatchRecord)>, StoreError> {
    let row = store.readers().fetch_optional(FIND.bind(id).bind(account)).await?;
    row.map(|row| Ok((row.get("seq")?, read(&row)?))).transpose()
}

pub async fn page(
    store: &Store,
    account: AccountKey,
    direction: Direction,
    after: Option<i64>,
) -> Result<BatchPage, StoreError> {
    let query = match direction {
        Direction::OldestFirst => PAGE.bind(account).bind(after.unwrap_or(i64::MIN)).bind(-account.0),
        Direction::NewestFirst => PAGE_FROM_NEWEST.bind(account).bind(after.unwrap_or(i64::MAX)),
    };
    let query = query.bind(PAGE_ROWS as i64);
    let rows = store.readers().fetch_all(query).await?;
    let rows: Vec<(i64, BatchRecord)> =
        rows.iter().map(|row| Ok((row.get("seq")?, read(row)?))).collect::<Result<_, StoreError>>()?;
    let next = rows.last().filter(|_| rows.len() == PAGE_ROWS).map(|(seq, _)| *seq);
    Ok(BatchPage { rows, next })
}

/// In the order they were sent.
pub async fn list_members(store: &Store, batch: i64) -> Result<Vec<RequestId>, StoreError> {
    let query = LIST_MEMBERS.bind(batch);
    let mut members = Vec::new();
    for row in store.readers().fetch_all(query).await? {
        let ids: &[u8] = row.get("ids")?;
        members.extend(ids.chunks_exact(16).filter_map(RequestId::from_bytes));
    }
    Ok(members)
}

pub(super) fn read(row: &Row) -> Result<BatchRecord, StoreError> {
    Ok(BatchRecord {
        id: row.get("id")?,
        created_at: row.get("created_at")?,
        state: row::batch_state(row)?,
        counters: row::counters(row)?,
        webhook: row.get("webhook")?,
        metadata: row.get("metadata")?,
    })
}
