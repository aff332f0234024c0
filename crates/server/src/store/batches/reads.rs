//! Reading batches.

use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;

use crate::store::database::{Row, sql};
use crate::store::{Store, StoreError, row};

const PAGE_ROWS: i64 = 128;

/// The columns that [`read`] wants, of `batches`.
macro_rules! batch_columns {
    () => {
        "seq, id, created_at, in_progress_at, completed_at, cancelled_at,
         registered, in_progress, completed, failed, cancelled, webhook, metadata"
    };
}

pub(super) use batch_columns;

/// Some batches, each with its row number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchPage {
    /// The batches, oldest first.
    pub rows: Vec<(i64, BatchRecord)>,
    /// Where the next page goes on; `None` at the end.
    pub next: Option<i64>,
}

/// A batch of `account`, with its row number.
pub async fn find(
    store: &Store,
    account: AccountKey,
    id: BatchId,
) -> Result<Option<(i64, BatchRecord)>, StoreError> {
    let text = concat!("SELECT ", batch_columns!(), " FROM batches WHERE id = ? AND account = ?");
    let query = sql(text).bind(id.to_bytes()).bind(account.0);
    store.readers().fetch_optional(query).await?.as_ref().map(read).transpose()
}

/// The batches of `account` behind `after`, oldest first.
pub async fn page(store: &Store, account: AccountKey, after: Option<i64>) -> Result<BatchPage, StoreError> {
    let text = concat!(
        "SELECT ",
        batch_columns!(),
        " FROM batches WHERE account = ? AND seq > ? ORDER BY seq LIMIT ? + 0"
    );
    let query = sql(text).bind(account.0).bind(after.unwrap_or(i64::MIN)).bind(PAGE_ROWS);
    let rows = store.readers().fetch_all(query).await?.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let next = rows.last().filter(|_| rows.len() as i64 == PAGE_ROWS).map(|(seq, _)| *seq);
    Ok(BatchPage { rows, next })
}

/// The ids of a batch, in the order they were sent.
pub async fn list_members(store: &Store, batch: i64) -> Result<Vec<RequestId>, StoreError> {
    let query = sql("SELECT ids FROM batch_members WHERE batch = ? ORDER BY place").bind(batch);
    let mut members = Vec::new();
    for row in store.readers().fetch_all(query).await? {
        let ids: &[u8] = row.get(0)?;
        members.extend(ids.chunks_exact(16).filter_map(RequestId::from_bytes));
    }
    Ok(members)
}

pub(super) fn read(row: &Row) -> Result<(i64, BatchRecord), StoreError> {
    let record = BatchRecord {
        id: BatchId::from_bytes(row.get(1)?).ok_or(StoreError::Damaged("a batch's id"))?,
        created_at: row.get(2)?,
        state: row::batch_state(row, 3)?,
        counters: row::counters(row, 6)?,
        webhook: row.get(11)?,
        metadata: row.get(12)?,
    };
    Ok((row.get(0)?, record))
}
