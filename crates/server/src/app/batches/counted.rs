//! Batches of which it is told how many requests expired, one by one and in pages that begin at either side of a batch.

use overnight_domain::ids::BatchId;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;

use super::find;
use crate::app::errors::AppError;
use crate::app::{Services, failures};
use crate::store::batches;
use crate::store::requests::Direction;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedBatch {
    pub record: BatchRecord,
    /// How many of its requests failed because their completion window ended; 0 until all of it has ended.
    pub expired: i64,
}

/// Where a page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageEdge {
    /// At the newest.
    Newest,
    /// Behind this batch: with the next older one.
    After(BatchId),
    /// Before this batch: it ends with the next newer one.
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

/// Up to `limit` batches of the account, the newest first, and whether there are more on the side that the page goes to.
///
/// # Errors
///
/// [`AppError::NotFound`] where the batch at its edge is none of the account's.
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

/// Of an ended batch, what was counted a moment ago: of a large one up to 20 times as long ago as that took.
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
