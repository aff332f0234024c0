//! Long lists of requests, page by page: each page goes on behind the last row of the one before, so that no reader,
//! however slow, holds a transaction open, and a list stays whole while requests are added.

use overnight_domain::ids::BatchId;
use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{AccountKey, ModelKey};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::store::tx::Statement;
use crate::store::{Store, StoreError, row};

const PAGE_ROWS: i64 = 512;
const PAGE_BYTES: i64 = 1 << 20;

/// What `row::request_summary` reads, behind the row number, of `progress p` and `requests r`.
macro_rules! summary_columns {
    () => {
        "p.seq, r.id, p.state, p.ready_at, p.in_progress_at, p.ended_at, r.created_at, r.expires_at"
    };
}
pub(in crate::store) use summary_columns;

/// What [`read_record`] reads behind the summary.
macro_rules! detail_columns {
    () => {
        "b.id, r.metadata, r.body, r.webhook, s.body"
    };
}
pub(in crate::store) use detail_columns;

/// Where the details come from.
macro_rules! detail_tables {
    () => {
        "LEFT JOIN batches b ON b.seq = p.batch LEFT JOIN results s ON s.seq = p.result_seq"
    };
}
pub(in crate::store) use detail_tables;

/// Which requests a list is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All of an account.
    Account(AccountKey),
    /// All of a batch, by its row number.
    Batch(i64),
}

/// In which order a list runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    /// In order of arrival.
    #[default]
    OldestFirst,
    /// In the opposite order.
    NewestFirst,
}

impl Direction {
    /// Whether `seq` lies at or before `last` in this order.
    const fn reaches(self, seq: i64, last: i64) -> bool {
        match self {
            Self::OldestFirst => seq <= last,
            Self::NewestFirst => seq >= last,
        }
    }
}

/// Which requests of its scope a list holds. Times are in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    /// Those in this status.
    pub status: Option<RequestStatus>,
    /// Those for this model.
    pub model: Option<ModelKey>,
    /// Those created after this time.
    pub created_after: Option<i64>,
    /// Those created before this time.
    pub created_before: Option<i64>,
    /// The order.
    pub direction: Direction,
}

/// Some rows of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows, in order.
    pub rows: Vec<T>,
    /// Where the next page goes on; `None` at the end.
    pub next: Option<i64>,
}

/// Builds the texts of a page: the columns, the tables, and the two scopes in two directions.
macro_rules! page_texts {
    ($name:ident, $columns:expr, $tables:expr) => {
        pub(in crate::store) const fn $name(scope: Scope, direction: Direction) -> &'static str {
            macro_rules! text {
                ($key:literal, $behind:literal, $order:literal) => {
                    concat!(
                        "SELECT ",
                        $columns,
                        " FROM progress p CROSS JOIN requests r ON r.seq = p.seq ",
                        $tables,
                        " WHERE ",
                        $key,
                        " AND ",
                        $behind,
                        " AND p.state BETWEEN ? AND ?",
                        " AND (? IS NULL OR p.model = ?) AND r.created_at > ? AND r.created_at < ?",
                        " ORDER BY ",
                        $order,
                        " LIMIT ?"
                    )
                };
            }
            match (scope, direction) {
                (Scope::Account(_), Direction::OldestFirst) => text!("p.account = ?", "p.seq > ?", "p.seq"),
                (Scope::Account(_), Direction::NewestFirst) => {
                    text!("p.account = ?", "p.seq < ?", "p.seq DESC")
                }
                (Scope::Batch(_), Direction::OldestFirst) => {
                    text!("p.batch = ? AND p.batch IS NOT NULL", "p.seq > ?", "p.seq")
                }
                (Scope::Batch(_), Direction::NewestFirst) => {
                    text!("p.batch = ? AND p.batch IS NOT NULL", "p.seq < ?", "p.seq DESC")
                }
            }
        }
    };
}

page_texts!(summaries_text, summary_columns!(), "");
page_texts!(
    sizes_text,
    "p.seq, length(r.body) + coalesce(length(r.metadata), 0) + coalesce(length(s.body), 0)",
    "LEFT JOIN results s ON s.seq = p.result_seq"
);
page_texts!(records_text, concat!(summary_columns!(), ", ", detail_columns!()), detail_tables!());

/// Every text of this scope and direction, for the plan test.
#[cfg(test)]
pub(in crate::store) fn page_texts(scope: Scope, direction: Direction) -> [&'static str; 3] {
    [summaries_text(scope, direction), sizes_text(scope, direction), records_text(scope, direction)]
}

/// A page of status records behind `after`, `limit` rows at most.
pub async fn page_summaries(
    store: &Store,
    scope: Scope,
    filter: &Filter,
    after: Option<i64>,
    limit: Option<i64>,
) -> Result<Page<RequestSummary>, StoreError> {
    let want = limit.map_or(PAGE_ROWS, |limit| limit.min(PAGE_ROWS));
    let statement = bind(summaries_text(scope, filter.direction), scope, filter, after, want);
    let rows = statement.fetch_all(store.readers()).await?;
    let next = match rows.last() {
        Some(row) if rows.len() as i64 >= want => Some(row.try_get(0)?),
        _ => None,
    };
    Ok(Page { rows: rows.iter().map(|row| row::request_summary(row, 1)).collect::<Result<_, _>>()?, next })
}

/// A page of whole records behind `after`, `limit` rows at most; about a mebibyte, or one record if it is larger.
///
/// Sizes are read first, so that large bodies are never in memory together. A request that leaves the filter between
/// the two reads is left out, and the next page still goes on where this one's sizes ended.
pub async fn page_records(
    store: &Store,
    scope: Scope,
    filter: &Filter,
    after: Option<i64>,
    limit: Option<i64>,
) -> Result<Page<RequestRecord>, StoreError> {
    let want = limit.map_or(PAGE_ROWS, |limit| limit.min(PAGE_ROWS));
    let mut after = after;
    loop {
        let Some(extent) = measure(store, scope, filter, after, want).await? else {
            return Ok(Page { rows: Vec::new(), next: None });
        };
        let statement = bind(records_text(scope, filter.direction), scope, filter, after, extent.rows);
        let mut rows = Vec::new();
        for row in &statement.fetch_all(store.readers()).await? {
            if filter.direction.reaches(row.try_get(0)?, extent.last) {
                rows.push(read_record(row)?);
            }
        }
        let next = Some(extent.last).filter(|_| !extent.is_end);
        if next.is_none() || !rows.is_empty() {
            return Ok(Page { rows, next });
        }
        after = next;
    }
}

/// How far a page of records goes.
struct Extent {
    rows: i64,
    last: i64,
    is_end: bool,
}

/// The rows behind `after` whose bodies fit into a page, `want` at most; `None` where there are none.
async fn measure(
    store: &Store,
    scope: Scope,
    filter: &Filter,
    after: Option<i64>,
    want: i64,
) -> Result<Option<Extent>, StoreError> {
    let sizes = bind(sizes_text(scope, filter.direction), scope, filter, after, want);
    let sizes = sizes.fetch_all(store.readers()).await?;
    let mut extent = None;
    let mut bytes = 0;
    for (rows, row) in (1..).zip(&sizes) {
        bytes += row.try_get::<i64, _>(1)?;
        if rows > 1 && bytes > PAGE_BYTES {
            break;
        }
        let is_end = rows == sizes.len() as i64 && rows < want;
        extent = Some(Extent { rows, last: row.try_get(0)?, is_end });
    }
    Ok(extent)
}

fn bind<'q>(
    text: &'static str,
    scope: Scope,
    filter: &Filter,
    after: Option<i64>,
    limit: i64,
) -> Statement<'q> {
    let key = match scope {
        Scope::Account(account) => account.0,
        Scope::Batch(batch) => batch,
    };
    let start = match filter.direction {
        Direction::OldestFirst => i64::MIN,
        Direction::NewestFirst => i64::MAX,
    };
    let (first, last) = row::codes(filter.status);
    let model = filter.model.map(|model| model.0);
    sqlx::query(text)
        .bind(key)
        .bind(after.unwrap_or(start))
        .bind(first)
        .bind(last)
        .bind(model)
        .bind(model)
        .bind(filter.created_after.unwrap_or(i64::MIN))
        .bind(filter.created_before.unwrap_or(i64::MAX))
        .bind(limit)
}

pub(super) fn read_record(row: &SqliteRow) -> Result<RequestRecord, StoreError> {
    let batch_id: Option<&[u8]> = row.try_get(8)?;
    let batch_id =
        batch_id.map(|bytes| BatchId::from_bytes(bytes).ok_or(StoreError::Damaged("a batch's id")));
    Ok(RequestRecord {
        summary: row::request_summary(row, 1)?,
        batch_id: batch_id.transpose()?,
        metadata: row.try_get(9)?,
        body: row.try_get(10)?,
        webhook: row.try_get(11)?,
        result: row.try_get(12)?,
    })
}
