//! Batches as people look through them: the newest first, page by page, and why requests of one failed.

use std::collections::HashMap;

use overnight_domain::batches::BatchStatus;
use overnight_domain::ids::BatchId;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;

use super::{find, name_of};
use crate::app::errors::AppError;
use crate::app::failures::Failure;
use crate::app::{Services, input};
use crate::store::batches::{self, ListFilter};
use crate::store::requests;

/// How many failed requests of a batch are looked at.
const FAILED_LOOKED_MAX: u32 = 20_000;

/// How many are read at once.
const ERRORS_AT_ONCE: u32 = 1_000;

/// How many groups are kept apart: failures may quote what was sent.
const GROUPS_MAX: usize = 256;

/// What is said of a failure that says nothing, or more than is read.
const UNTOLD: &str = "the failure is too long to be shown";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrowseQuery {
    pub status: Option<BatchStatus>,
    /// Those whose metadata, the name among them, hold this text; or, where it is `key=value`, that have such a key with
    /// this string, number, `true` or `false`. White space around it does not count.
    pub search: Option<String>,
    pub before: Option<BatchId>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchesPage {
    /// The batches, the newest first: 50 at most.
    pub rows: Vec<BatchRow>,
    /// Behind which the next page begins, if there is one.
    pub next: Option<BatchId>,
    /// Behind which to look on, where 2,000 batches were looked through and the page is not full.
    pub looked_through: Option<BatchId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRow {
    pub record: BatchRecord,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// A page of an account's batches.
///
/// # Errors
///
/// [`AppError::NotFound`] where `before` is none of the account's; [`AppError::Invalid`] for a search of more than
/// [`SEARCH_CHARS_MAX`](crate::app::SEARCH_CHARS_MAX) characters.
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

/// The newest batches of an account, `limit` at most: first those that have not ended.
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

/// How many batches of an account have neither completed nor been cancelled; more than a hundred count as a hundred.
pub async fn count_live(services: &Services, account: AccountKey) -> Result<i64, AppError> {
    Ok(batches::count_live(&services.store, account).await?)
}

/// Why requests of a batch failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailureGroups {
    /// What they say, the most frequent first: the first 256 that differ.
    pub groups: Vec<FailureGroup>,
    /// How many failed requests were looked at: 20,000 at most.
    pub looked_at: usize,
    /// Whether more have failed than were looked at.
    pub has_more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureGroup {
    pub failure: Failure,
    pub requests: usize,
}

impl FailureGroups {
    /// How many requests failed so, as far as they were looked at; `None` where that was not kept apart.
    pub fn count_of(&self, failure: &Failure) -> Option<usize> {
        self.groups.iter().find(|group| group.failure == *failure).map(|group| group.requests)
    }
}

/// What the first 20,000 failed requests of a batch say of their failures.
pub async fn failure_groups(
    services: &Services,
    account: AccountKey,
    id: BatchId,
) -> Result<FailureGroups, AppError> {
    let (batch, record) = find(services, account, id).await?;
    // Whoever looks for more than there are goes through the whole batch.
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

/// Counts a failed request in the group of those that say the same.
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
