//! List Batches.

use std::collections::VecDeque;

use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;

use super::WholeBatch;
use crate::app::Services;
use crate::app::errors::AppError;
use crate::app::pages::Pages;
use crate::store::{Store, batches};

/// A page ends once its batches list so many requests.
const PAGE_REQUESTS: i64 = 16_384;

/// A list of batches.
pub struct BatchPages {
    store: Store,
    account: AccountKey,
    waiting: VecDeque<(i64, BatchRecord)>,
    after: Option<i64>,
    is_over: bool,
}

/// The batches of an account, oldest first.
pub fn list(services: &Services, account: AccountKey) -> BatchPages {
    let store = services.store.clone();
    BatchPages { store, account, waiting: VecDeque::new(), after: None, is_over: false }
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
            requests += record.counters.total();
            let requests_ids = batches::list_members(&self.store, batch).await?;
            rows.push(WholeBatch { record, requests_ids });
        }
        Ok(Some(rows).filter(|rows| !rows.is_empty()))
    }
}
