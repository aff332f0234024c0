//! Lists of requests of an account or a batch, page by page.

use bytes::Bytes;
use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;

use super::Services;
use super::errors::AppError;
use super::pages::{Pages, SizedPages};
use crate::store::requests::{self, Filter, Page, PageScope};
use crate::store::{Store, StoreError};

/// The bytes of the line that says how a request stands, and of everything in the line of a whole one that is no body.
const STATUS_BYTES: usize = 512;

/// The most bytes of a page of whole requests: about five mebibytes, and a request with a long result.
const RECORDS_BYTES: usize = 16 << 20;

/// The most bytes of a page of status records, which are 1,024.
const SUMMARIES_BYTES: usize = 1_024 * STATUS_BYTES;

/// A position in a list of requests.
#[derive(Clone)]
pub(in crate::app) struct Cursor {
    pub(in crate::app) store: Store,
    pub(in crate::app) scope: PageScope,
    pub(in crate::app) filter: Filter,
    pub(in crate::app) after: Option<i64>,
    pub(in crate::app) left: Option<u64>,
    pub(in crate::app) is_over: bool,
}

/// A list of requests without their bodies.
pub struct SummaryPages(pub(in crate::app) Cursor);

#[derive(Clone)]
pub struct RecordPages(pub(in crate::app) Cursor);

impl SummaryPages {
    pub(in crate::app) fn of_batch(services: &Services, account: AccountKey, batch: i64) -> Self {
        Self(Cursor::of_batch(services, account, batch))
    }
}

impl RecordPages {
    pub(in crate::app) fn of_batch(services: &Services, account: AccountKey, batch: i64) -> Self {
        Self(Cursor::of_batch(services, account, batch))
    }

    /// Those of a batch that completed.
    pub(in crate::app) fn completed_of_batch(services: &Services, account: AccountKey, batch: i64) -> Self {
        let filter = Filter { status: Some(RequestStatus::Completed), ..Filter::default() };
        Self(Cursor { filter, ..Cursor::of_batch(services, account, batch) })
    }

    /// Those of a batch that failed or were cancelled.
    pub(in crate::app) fn unanswered_of_batch(services: &Services, account: AccountKey, batch: i64) -> Self {
        let filter = Filter { is_unanswered: true, ..Filter::default() };
        Self(Cursor { filter, ..Cursor::of_batch(services, account, batch) })
    }

    pub(in crate::app) fn failed_of_batch(services: &Services, account: AccountKey, batch: i64) -> Self {
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

    /// The rows wanted of the next page; `None` at the end.
    fn want(&self) -> Option<Option<i64>> {
        if self.is_over || self.left == Some(0) {
            return None;
        }
        Some(self.left.map(|left| i64::try_from(left).unwrap_or(i64::MAX)))
    }

    /// Goes on behind the page; its rows.
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
