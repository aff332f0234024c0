//! List Batches.

use std::collections::VecDeque;

use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;

use super::WholeBatch;
use crate::app::Services;
use crate::app::errors::AppError;
use crate::app::pages::{Pages, SizedPages};
use crate::store::{Store, batches};

/// A page ends once its batches list so many requests.
const PAGE_REQUESTS: usize = 16_384;

/// The bytes of a request's identifier in the line of its batch, and in memory meanwhile.
const ID_BYTES: usize = 64;

/// The bytes of the rest of that line.
const LINE_BYTES: usize = 512;

/// A list of batches.
pub struct BatchPages {
    store: Store,
    batch_requests_max: usize,
    account: AccountKey,
    waiting: VecDeque<(i64, BatchRecord)>,
    after: Option<i64>,
    is_over: bool,
}

/// The batches of an account, oldest first.
pub fn list(services: &Services, account: AccountKey) -> BatchPages {
    let store = services.store.clone();
    let batch_requests_max = services.config.limits.batch_requests;
    BatchPages { store, batch_requests_max, account, waiting: VecDeque::new(), after: None, is_over: false }
}

impl Pages for BatchPages {
    type Row = WholeBatch;

    async fn next_page(&mut self) -> Result<Option<Vec<WholeBatch>>, AppError> {
        if self.waiting.is_empty() && !self.is_over {
            let page = batches::page(&self.store, self.account, self.after).await?;
            self.after = page.next;
            self.is_over = page.next.is_none();
            self.waiting = page.rows.into();
        }
        let mut rows = Vec::new();
        let mut requests = 0;
        while requests < PAGE_REQUESTS
            && let Some((batch, record)) = self.waiting.pop_front()
        {
            requests += usize::try_from(record.counters.total()).unwrap_or(usize::MAX);
            let requests_ids = batches::list_members(&self.store, batch).await?;
            rows.push(WholeBatch { record, requests_ids });
        }
        Ok(Some(rows).filter(|rows| !rows.is_empty()))
    }
}

impl SizedPages for BatchPages {
    fn page_bytes_max(&self) -> usize {
        (PAGE_REQUESTS + self.batch_requests_max) * ID_BYTES
    }

    fn row_bytes(row: &WholeBatch) -> usize {
        LINE_BYTES + row.requests_ids.len() * ID_BYTES
    }
}
