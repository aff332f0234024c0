//! Batches with the number of expired requests, singly and in pages that begin at either side of a batch.

use overnight_domain::ids::BatchId;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_store::batches;
use overnight_store::requests::Direction;

use super::find;
use crate::errors::AppError;
use crate::{Services, failures};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedBatch {
    pub record: BatchRecord,
    /// Requests that failed because their completion window ended; 0 until the batch has ended.
    pub expired: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageEdge {
    Newest,
    /// With the next older batch.
    After(BatchId),
    /// Ends with the next newer batch.
    Before(BatchId),
}

pub async fn get_counted(
    services: &Services,
    account: AccountKey,
    id: BatchId,
) -> Result<CountedBatch, AppError> {
    let (batch, record) = find(services, account, id).await?;
    count(services, account, batch, record).await
}

/// Up to `limit` batches of the account, newest first, and whether there are more in the page's direction. Fails with
/// [`AppError::NotFound`] if the batch at the edge is not the account's.
pub async fn page_counted(
    services: &Services,
    account: AccountKey,
    edge: PageEdge,
    limit: usize,
) -> Result<(Vec<CountedBatch>, bool), AppError> {
    let (direction, edge) = match edge {
        PageEdge::Newest => (Direction::NewestFirst, None),
        PageEdge::After(id) => (Direction::NewestFirst, Some(id)),
        PageEdge::Before(id) => (Direction::OldestFirst, Some(id)),
    };
    let mut after = match edge {
        Some(id) => Some(find(services, account, id).await?.0),
        None => None,
    };
    let mut found = Vec::new();
    while found.len() <= limit {
        let page = batches::page(&services.store, account, direction, after).await?;
        found.extend(page.rows);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let has_more = found.len() > limit;
    found.truncate(limit);
    if direction == Direction::OldestFirst {
        found.reverse();
    }
    let mut counted = Vec::with_capacity(found.len());
    for (batch, record) in found {
        counted.push(count(services, account, batch, record).await?);
    }
    Ok((counted, has_more))
}

/// For an ended batch, a recent count: at most 20 times as old as counting takes.
async fn count(
    services: &Services,
    account: AccountKey,
    batch: i64,
    record: BatchRecord,
) -> Result<CountedBatch, AppError> {
    if record.counters.live() > 0 || record.counters.failed == 0 {
        return Ok(CountedBatch { record, expired: 0 });
    }
    let store = services.store.clone();
    let body = failures::expired_body();
    let count = async move { Ok(batches::count_failed_with(&store, account, batch, body).await?) };
    let expired = services.live_counts.expired.get(batch, &services.clock, Box::pin(count)).await?;
    Ok(CountedBatch { record, expired })
}
