//! Long lists read page by page, and the lists of requests. A slow reader keeps no read of the store open.

use bytes::Bytes;
use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;
use overnight_store::requests::{self, Filter, Page, PageScope};
use overnight_store::{Store, StoreError};

use super::Services;
use super::errors::AppError;

/// A list that is read once from beginning to end.
pub trait Pages: Send + 'static {
    type Row: Send + Sync + 'static;

    /// The next rows; empty if a filter excludes all of them, `None` at the end.
    fn next_page(&mut self) -> impl Future<Output = Result<Option<Vec<Self::Row>>, AppError>> + Send;
}

/// A list with known memory use.
pub trait SizedPages: Pages {
    /// The maximum bytes of a page, unless a single row is larger.
    fn page_bytes_max(&self) -> usize;

    /// The bytes of a row in memory or as a line, whichever is more.
    fn row_bytes(row: &Self::Row) -> usize;
}

/// The bytes of a status line, and of a whole request's line without bodies.
const STATUS_BYTES: usize = 512;

/// The maximum bytes of a page of whole requests: about five mebibytes, and a request with a long result.
const RECORDS_BYTES: usize = 16 << 20;

/// The maximum bytes of a page of 1,024 status records.
const SUMMARIES_BYTES: usize = 1_024 * STATUS_BYTES;

#[derive(Clone)]
pub(crate) struct Cursor {
    pub(crate) store: Store,
    pub(crate) scope: PageScope,
    pub(crate) filter: Filter,
    pub(crate) after: Option<i64>,
    pub(crate) left: Option<u64>,
    pub(crate) is_over: bool,
}

/// A list of requests without their bodies.
pub struct SummaryPages(pub(crate) Cursor);

#[derive(Clone)]
pub struct RecordPages(pub(crate) Cursor);

impl SummaryPages {
    pub(crate) fn of_batch(services: &Services, account: AccountKey, batch: i64) -> Self {
        Self(Cursor::of_batch(services, account, batch))
    }
}

impl RecordPages {
    pub(crate) fn of_batch(services: &Services, account: AccountKey, batch: i64) -> Self {
        Self(Cursor::of_batch(services, account, batch))
    }

    /// The completed requests of a batch.
    pub(crate) fn completed_of_batch(services: &Services, account: AccountKey, batch: i64) -> Self {
        let filter = Filter { status: Some(RequestStatus::Completed), ..Filter::default() };
        Self(Cursor { filter, ..Cursor::of_batch(services, account, batch) })
    }

    /// The failed and cancelled requests of a batch.
    pub(crate) fn unanswered_of_batch(services: &Services, account: AccountKey, batch: i64) -> Self {
        let filter = Filter { is_unanswered: true, ..Filter::default() };
        Self(Cursor { filter, ..Cursor::of_batch(services, account, batch) })
    }

    pub(crate) fn failed_of_batch(services: &Services, account: AccountKey, batch: i64) -> Self {
        let filter = Filter { status: Some(RequestStatus::Failed), ..Filter::default() };
        Self(Cursor { filter, ..Cursor::of_batch(services, account, batch) })
    }
}

impl Cursor {
    fn of_batch(services: &Services, account: AccountKey, batch: i64) -> Self {
        Self {
            store: services.store.clone(),
            scope: PageScope::Batch(account, batch),
            filter: Filter::default(),
            after: None,
            left: None,
            is_over: false,
        }
    }

    /// The arguments for the next page; `None` at the end.
    fn want(&self) -> Option<Option<i64>> {
        if self.is_over || self.left == Some(0) {
            return None;
        }
        Some(self.left.map(|left| i64::try_from(left).unwrap_or(i64::MAX)))
    }

    /// Moves behind the page, and returns its rows.
    fn take<T>(&mut self, page: Result<Page<T>, StoreError>) -> Result<Vec<T>, AppError> {
        let page = page?;
        self.after = page.next;
        self.is_over = page.next.is_none();
        self.left = self.left.map(|left| left.saturating_sub(page.rows.len() as u64));
        Ok(page.rows)
    }
}

impl Pages for SummaryPages {
    type Row = RequestSummary;

    async fn next_page(&mut self) -> Result<Option<Vec<RequestSummary>>, AppError> {
        let Self(cursor) = self;
        let Some(limit) = cursor.want() else { return Ok(None) };
        let (store, after) = (&cursor.store, cursor.after);
        let page = requests::page_summaries(store, cursor.scope, &cursor.filter, after, limit).await;
        cursor.take(page).map(Some)
    }
}

impl Pages for RecordPages {
    type Row = RequestRecord;

    async fn next_page(&mut self) -> Result<Option<Vec<RequestRecord>>, AppError> {
        let Self(cursor) = self;
        let Some(limit) = cursor.want() else { return Ok(None) };
        let (store, after) = (&cursor.store, cursor.after);
        let page = requests::page_records(store, cursor.scope, &cursor.filter, after, limit).await;
        cursor.take(page).map(Some)
    }
}

impl SizedPages for SummaryPages {
    fn page_bytes_max(&self) -> usize {
        SUMMARIES_BYTES
    }

    fn row_bytes(_: &RequestSummary) -> usize {
        STATUS_BYTES
    }
}

impl SizedPages for RecordPages {
    fn page_bytes_max(&self) -> usize {
        RECORDS_BYTES
    }

    fn row_bytes(row: &RequestRecord) -> usize {
        let result_bytes = row.result.as_ref().map_or(0, Bytes::len);
        STATUS_BYTES + row.body.len() + result_bytes + row.client.heap_bytes()
    }
}
