//! Batches for people: paging from the newest, and reasons for failures.

use std::collections::HashMap;

use overnight_domain::batches::BatchStatus;
use overnight_domain::ids::BatchId;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_store::batches::{self, ListFilter};
use overnight_store::requests;

use super::{find, name_of};
use crate::errors::AppError;
use crate::failures::Failure;
use crate::{Services, input};

/// The maximum number of failed requests of a batch that are examined.
const FAILED_LOOKED_MAX: u32 = 20_000;

/// Requests per read.
const ERRORS_AT_ONCE: u32 = 1_000;

/// The maximum number of groups: failures may quote prompts.
const GROUPS_MAX: usize = 256;

/// Shown for a failure without a message, or with one that is too long.
const UNTOLD: &str = "the failure is too long to be shown";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrowseQuery {
    pub status: Option<BatchStatus>,
    /// Filters by this text in the metadata including the name, or by `key=value`, where the value is a string, number, `true` or `false`.
    /// Surrounding white space is ignored.
    pub search: Option<String>,
    pub before: Option<BatchId>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchesPage {
    /// Newest first, 50 at most.
    pub rows: Vec<BatchRow>,
    /// The cursor of the next page, if there is one.
    pub next: Option<BatchId>,
    /// The cursor to continue a search that stopped after 2,000 batches before the page was full.
    pub looked_through: Option<BatchId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRow {
    pub record: BatchRecord,
    pub name: Option<String>,
}

/// A page of an account's batches. Fails with [`AppError::NotFound`] if `before` is not the account's, and with [`AppError::Invalid`] if
/// the search is longer than [`SEARCH_CHARS_MAX`](crate::SEARCH_CHARS_MAX) characters.
pub async fn browse(
    services: &Services,
    account: AccountKey,
    query: &BrowseQuery,
) -> Result<BatchesPage, AppError> {
    let search = input::search(query.search.as_deref())?;
    let before = match query.before {
        Some(id) => Some(find(services, account, id).await?.0),
        None => None,
    };
    let filter = ListFilter { status: query.status, search };
    let page = batches::list_newest(&services.store, account, &filter, before).await?;
    let named = |record: BatchRecord| BatchRow { name: name_of(&record), record };
    Ok(BatchesPage {
        rows: page.rows.into_iter().map(named).collect(),
        next: id_of(services, page.next).await?,
        looked_through: id_of(services, page.looked_through).await?,
    })
}

/// The newest batches of an account, unfinished ones first.
pub async fn newest_unfinished_first(
    services: &Services,
    account: AccountKey,
    limit: u32,
) -> Result<Vec<BatchRow>, AppError> {
    let named = |record: BatchRecord| BatchRow { name: name_of(&record), record };
    let mut rows: Vec<BatchRow> =
        batches::list_live(&services.store, account, limit).await?.into_iter().map(named).collect();
    if rows.len() < limit as usize {
        let newest = browse(services, account, &BrowseQuery::default()).await?.rows;
        let has_ended = |row: &BatchRow| {
            matches!(row.record.state.status(), BatchStatus::Completed | BatchStatus::Cancelled)
        };
        rows.extend(newest.into_iter().filter(has_ended));
        rows.truncate(limit as usize);
    }
    Ok(rows)
}

async fn id_of(services: &Services, seq: Option<i64>) -> Result<Option<BatchId>, AppError> {
    match seq {
        Some(seq) => Ok(batches::find_id(&services.store, seq).await?),
        None => Ok(None),
    }
}

/// The number of an account's batches that have neither completed nor been cancelled; counting stops at 100.
pub async fn count_live(services: &Services, account: AccountKey) -> Result<i64, AppError> {
    Ok(batches::count_live(&services.store, account).await?)
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailureGroups {
    /// The first 256 different failures, the most frequent first.
    pub groups: Vec<FailureGroup>,
    /// The number of failed requests examined, 20,000 at most.
    pub looked_at: usize,
    /// Whether more failed than were examined.
    pub has_more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureGroup {
    pub failure: Failure,
    pub requests: usize,
}

impl FailureGroups {
    /// The number of examined requests with this failure; `None` if it has no group of its own.
    pub fn count_of(&self, failure: &Failure) -> Option<usize> {
        self.groups.iter().find(|group| group.failure == *failure).map(|group| group.requests)
    }
}

/// Groups the first 20,000 failed requests of a batch by their failure.
pub async fn failure_groups(
    services: &Services,
    account: AccountKey,
    id: BatchId,
) -> Result<FailureGroups, AppError> {
    let (batch, record) = find(services, account, id).await?;
    // A higher limit than there are failures would read the whole batch.
    let failed = u32::try_from(record.counters.failed).unwrap_or(u32::MAX);
    let mut left = failed.min(FAILED_LOOKED_MAX);
    let (mut found, mut places) = (FailureGroups::default(), HashMap::new());
    let mut behind = i64::MIN;
    while left > 0 {
        let limit = left.min(ERRORS_AT_ONCE);
        let errors = requests::list_errors(&services.store, account, batch, behind, limit).await?;
        let Some((last, _)) = errors.last() else { break };
        behind = *last;
        left -= limit;
        found.looked_at += errors.len();
        for (_, error) in errors {
            count(&mut found.groups, &mut places, error.as_deref());
        }
    }
    found.groups.sort_by_key(|group| std::cmp::Reverse(group.requests));
    found.has_more = failed as usize > found.looked_at;
    Ok(found)
}

/// Adds a failed request to the group of its failure.
fn count(groups: &mut Vec<FailureGroup>, places: &mut HashMap<Failure, usize>, error: Option<&[u8]>) {
    let untold = || Failure { message: UNTOLD.to_owned(), code: None };
    let failure = error.and_then(Failure::read).unwrap_or_else(untold);
    let known = places.get(&failure).copied();
    if let Some(group) = known.and_then(|place| groups.get_mut(place)) {
        group.requests += 1;
    } else if groups.len() < GROUPS_MAX {
        places.insert(failure.clone(), groups.len());
        groups.push(FailureGroup { failure, requests: 1 });
    }
}
