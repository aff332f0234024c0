//! Batches: requests that are followed, cancelled or deleted together.

mod browse;
mod cancel;
mod counted;
mod create;
mod delete;
mod ends;
mod list;

use std::borrow::Cow;

use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::json::Json;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;

pub use self::browse::{
    BatchRow, BatchesPage, BrowseQuery, FailureGroup, FailureGroups, browse, count_live, failure_groups,
    newest_unfinished_first,
};
pub use self::cancel::{cancel, finish_cancels};
pub use self::counted::{CountedBatch, PageEdge, get_counted, page_counted};
pub(super) use self::create::{Input, make};
pub use self::create::{create, finish_left};
pub use self::delete::{delete, finish_deletions};
pub use self::ends::{AfterEnd, ENDED_PAGE_BYTES, EndedPage, EndedPages, EndedSoFar, Ends, EndsWatch};
pub use self::list::{BatchPages, BatchQuery, ListedBatch, list};
use overnight_store::batches;

use super::Services;
use super::errors::AppError;
use super::pages::{RecordPages, SummaryPages};
pub use overnight_store::batches::BatchCost;

pub(super) const NOUN: &str = "batch";

pub(super) const NAME_KEY: &str = "batch_name";

/// A batch and its requests, in the order they were sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeBatch {
    pub record: BatchRecord,
    pub requests_ids: Vec<RequestId>,
}

pub async fn get_record(
    services: &Services,
    account: AccountKey,
    id: BatchId,
) -> Result<BatchRecord, AppError> {
    find(services, account, id).await.map(|(_, record)| record)
}

pub async fn get_whole(
    services: &Services,
    account: AccountKey,
    id: BatchId,
) -> Result<WholeBatch, AppError> {
    let (batch, record) = find(services, account, id).await?;
    let requests_ids = batches::list_members(&services.store, batch).await?;
    Ok(WholeBatch { record, requests_ids })
}

/// The states of all requests of a batch, in order of arrival.
pub async fn list_requests(
    services: &Services,
    account: AccountKey,
    id: BatchId,
) -> Result<SummaryPages, AppError> {
    let (batch, _) = find(services, account, id).await?;
    Ok(SummaryPages::of_batch(services, account, batch))
}

/// The full records of all requests of a batch, ended or not, in order of arrival.
pub async fn list_results(
    services: &Services,
    account: AccountKey,
    id: BatchId,
) -> Result<RecordPages, AppError> {
    let (batch, _) = find(services, account, id).await?;
    Ok(RecordPages::of_batch(services, account, batch))
}

/// The cost of a batch's requests, recently summed: at most 20 times as old as summing takes.
pub async fn cost_of(services: &Services, account: AccountKey, id: BatchId) -> Result<BatchCost, AppError> {
    let (batch, record) = find(services, account, id).await?;
    let store = services.store.clone();
    let count = async move { Ok(batches::cost(&store, account, batch).await?) };
    // A sum made while requests lived is not the final cost.
    let key = (batch, record.counters.live() > 0);
    services.live_counts.costs.get(key, &services.clock, Box::pin(count)).await
}

/// `batch_name` of the metadata, if it is a string.
pub fn name_of(record: &BatchRecord) -> Option<String> {
    let metadata = Json::from_stored(record.metadata.as_deref()?).ok()?;
    let (_, name) =
        metadata.members()?.map(|member| (member.key(), member.value)).find(|(key, _)| key == NAME_KEY)?;
    name.decode_string().map(Cow::into_owned)
}

pub(super) async fn find(
    services: &Services,
    account: AccountKey,
    id: BatchId,
) -> Result<(i64, BatchRecord), AppError> {
    batches::find(&services.store, account, id).await?.ok_or(AppError::NotFound(NOUN))
}
