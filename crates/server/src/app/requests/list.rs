//! List Requests.

use overnight_domain::ids::RequestId;
use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;

use crate::app::Services;
use crate::app::errors::AppError;
use crate::app::pages::Pages;
use crate::store::requests::{self, Direction, Filter, Page, Scope};
use crate::store::{Store, StoreError, models};

/// Which requests to list. Times are in Unix seconds, as clients read them.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// Those in this status.
    pub status: Option<RequestStatus>,
    /// Those for this model; a model that was never configured has none.
    pub model: Option<String>,
    /// Those created in a later second than this one.
    pub created_after: Option<i64>,
    /// Those created in an earlier second than this one.
    pub created_before: Option<i64>,
    /// So many at most.
    pub limit: Option<u64>,
    /// Those behind this one. The identifier zero names none.
    pub after: Option<RequestId>,
    /// The order.
    pub direction: Direction,
}

/// A position in a list of requests.
#[derive(Clone)]
struct Cursor {
    store: Store,
    scope: Scope,
    filter: Filter,
    after: Option<i64>,
    left: Option<u64>,
    is_over: bool,
}

/// A list of requests without their bodies.
pub struct SummaryPages(Cursor);

/// A list of whole requests.
#[derive(Clone)]
pub struct RecordPages(Cursor);

/// The requests of an account without their bodies.
///
/// # Errors
///
/// [`AppError::NotFound`] where `after` is none of the account's.
pub async fn list_summaries(
    services: &Services,
    account: AccountKey,
    query: &ListQuery,
) -> Result<SummaryPages, AppError> {
    Cursor::of_account(services, account, query).await.map(SummaryPages)
}

/// The requests of an account as whole records.
///
/// # Errors
///
/// As [`list_summaries`].
pub async fn list_records(
    services: &Services,
    account: AccountKey,
    query: &ListQuery,
) -> Result<RecordPages, AppError> {
    Cursor::of_account(services, account, query).await.map(RecordPages)
}

impl SummaryPages {
    pub(in crate::app) fn of_batch(services: &Services, batch: i64) -> Self {
        Self(Cursor::of_batch(services, batch))
    }
}

impl RecordPages {
    pub(in crate::app) fn of_batch(services: &Services, batch: i64) -> Self {
        Self(Cursor::of_batch(services, batch))
    }

    /// Those of a batch that failed.
    pub(in crate::app) fn failed_of_batch(services: &Services, batch: i64) -> Self {
        let filter = Filter { status: Some(RequestStatus::Failed), ..Filter::default() };
        Self(Cursor { filter, ..Cursor::of_batch(services, batch) })
    }
}

impl Cursor {
    async fn of_account(
        services: &Services,
        account: AccountKey,
        query: &ListQuery,
    ) -> Result<Self, AppError> {
        let store = services.store.clone();
        let after = match query.after {
            Some(id) => {
                let seq = requests::find_seq(&store, account, id).await?;
                Some(seq.ok_or(AppError::NotFound("request for this list to go on after"))?)
            }
            None => None,
        };
        let (model, is_over) = match &query.model {
            Some(name) => {
                let key = models::find(&store, name).await?;
                (key, key.is_none())
            }
            None => (None, false),
        };
        let milliseconds = |seconds: i64| seconds.saturating_mul(1_000);
        let filter = Filter {
            status: query.status,
            model,
            created_after: query.created_after.map(|second| milliseconds(second).saturating_add(999)),
            created_before: query.created_before.map(milliseconds),
            direction: query.direction,
        };
        Ok(Self { store, scope: Scope::Account(account), filter, after, left: query.limit, is_over })
    }

    fn of_batch(services: &Services, batch: i64) -> Self {
        Self {
            store: services.store.clone(),
            scope: Scope::Batch(batch),
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

    fn take<T>(&mut self, page: Result<Page<T>, StoreError>) -> Result<Option<Vec<T>>, AppError> {
        let page = page?;
        self.after = page.next;
        self.is_over = page.next.is_none();
        self.left = self.left.map(|left| left.saturating_sub(page.rows.len() as u64));
        Ok(Some(page.rows).filter(|rows| !rows.is_empty()))
    }
}

impl Pages for SummaryPages {
    type Row = RequestSummary;

    async fn next_page(&mut self) -> Result<Option<Vec<RequestSummary>>, AppError> {
        let Self(cursor) = self;
        let Some(limit) = cursor.want() else { return Ok(None) };
        let (store, after) = (&cursor.store, cursor.after);
        let page = requests::page_summaries(store, cursor.scope, &cursor.filter, after, limit).await;
        cursor.take(page)
    }
}

impl Pages for RecordPages {
    type Row = RequestRecord;

    async fn next_page(&mut self) -> Result<Option<Vec<RequestRecord>>, AppError> {
        let Self(cursor) = self;
        let Some(limit) = cursor.want() else { return Ok(None) };
        let (store, after) = (&cursor.store, cursor.after);
        let page = requests::page_records(store, cursor.scope, &cursor.filter, after, limit).await;
        cursor.take(page)
    }
}
