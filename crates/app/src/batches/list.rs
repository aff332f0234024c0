use std::collections::VecDeque;

use overnight_domain::batches::BatchStatus;
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_store::requests::Direction;
use overnight_store::{Store, batches};

use crate::Services;
use crate::errors::AppError;
use crate::pages::{Pages, SizedPages};

/// A page ends after batches with this many requests.
const PAGE_REQUESTS: usize = 16_384;

/// The bytes of a request's identifier in the line of its batch, and in memory.
const ID_BYTES: usize = 64;

/// The bytes of the rest of that line.
const LINE_BYTES: usize = 512;

/// Filters of List Batches. Times are in Unix seconds, as clients read them.
#[derive(Debug, Clone, Default)]
pub struct BatchQuery {
    pub status: Option<BatchStatus>,
    /// Created in a later second than this one.
    pub created_after: Option<i64>,
    /// Created in an earlier second than this one.
    pub created_before: Option<i64>,
    pub limit: Option<u64>,
    /// Continues after this one. The identifier zero is never found.
    pub after: Option<BatchId>,
    pub direction: Direction,
    /// Whether each batch is read without the list of its requests.
    pub is_brief: bool,
}

#[derive(Debug)]
pub struct ListedBatch {
    pub record: BatchRecord,
    /// In the order they were sent; `None` in a brief list.
    pub requests_ids: Option<Vec<RequestId>>,
}

pub struct BatchPages {
    store: Store,
    batch_requests_max: usize,
    account: AccountKey,
    query: BatchQuery,
    left: u64,
    waiting: VecDeque<(i64, BatchRecord)>,
    after: Option<i64>,
    is_over: bool,
}

pub async fn list(
    services: &Services,
    account: AccountKey,
    query: BatchQuery,
) -> Result<BatchPages, AppError> {
    let store = services.store.clone();
    let after = match query.after {
        Some(id) => {
            let found = batches::find(&store, account, id).await?;
            Some(found.ok_or(AppError::NotFound("batch for this list to go on after"))?.0)
        }
        None => None,
    };
    let batch_requests_max = services.config().limits.batch_requests;
    let left = query.limit.unwrap_or(u64::MAX);
    Ok(BatchPages {
        store,
        batch_requests_max,
        account,
        query,
        left,
        waiting: VecDeque::new(),
        after,
        is_over: false,
    })
}

impl BatchQuery {
    fn takes(&self, record: &BatchRecord) -> bool {
        let second = record.created_at.div_euclid(1_000);
        self.status.is_none_or(|status| record.state.status() == status)
            && self.created_after.is_none_or(|after| second > after)
            && self.created_before.is_none_or(|before| second < before)
    }
}

impl Pages for BatchPages {
    type Row = ListedBatch;

    async fn next_page(&mut self) -> Result<Option<Vec<ListedBatch>>, AppError> {
        if self.left == 0 || (self.waiting.is_empty() && self.is_over) {
            return Ok(None);
        }
        if self.waiting.is_empty() {
            let page = batches::page(&self.store, self.account, self.query.direction, self.after).await?;
            self.after = page.next;
            self.is_over = page.next.is_none();
            self.waiting = page.rows.into_iter().filter(|(_, record)| self.query.takes(record)).collect();
        }
        let mut rows = Vec::new();
        let mut requests = 0;
        while requests < PAGE_REQUESTS
            && self.left > 0
            && let Some((batch, record)) = self.waiting.pop_front()
        {
            let requests_ids = match self.query.is_brief {
                true => None,
                false => Some(batches::list_members(&self.store, batch).await?),
            };
            requests += requests_ids.as_ref().map_or(0, Vec::len);
            rows.push(ListedBatch { record, requests_ids });
            self.left -= 1;
        }
        Ok(Some(rows))
    }
}

impl SizedPages for BatchPages {
    fn page_bytes_max(&self) -> usize {
        let requests = if self.query.is_brief { 0 } else { PAGE_REQUESTS + self.batch_requests_max };
        batches::PAGE_ROWS * LINE_BYTES + requests * ID_BYTES
    }

    fn row_bytes(row: &ListedBatch) -> usize {
        LINE_BYTES + row.requests_ids.as_ref().map_or(0, Vec::len) * ID_BYTES
    }
}
