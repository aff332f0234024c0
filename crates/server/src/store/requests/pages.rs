//! Long lists of requests, page by page: each page goes on behind the last row of the one before, so that no reader,
//! however slow, holds a transaction open, and a list stays whole while requests are added.

use bytes::Bytes;
use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{AccountKey, ModelKey};

use crate::store::database::{Sql, Statement, statements};
use crate::store::requests::beside::fetch_beside;
use crate::store::requests::records::{
    RECORDS_OF_ACCOUNT_NEWEST_FIRST, RECORDS_OF_ACCOUNT_OLDEST_FIRST, RECORDS_OF_BATCH, find_record_at,
    read_record_in,
};
use crate::store::{Store, StoreError, row};

const SUMMARIES: i64 = 1024;

const RECORDS: i64 = 256;

/// Requests that one read of a list with a filter goes through.
const LOOKED_MAX: i64 = 4_096;

/// With so many bytes of large bodies a page ends. A request is large if it has more than 16,384 bytes.
const LARGE_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    /// In order of arrival.
    #[default]
    OldestFirst,
    NewestFirst,
}

/// Which requests a list is of, and in which order it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageScope {
    Account(AccountKey, Direction),
    /// All of a batch of an account, by its row number, in order of arrival.
    Batch(AccountKey, i64),
}

impl PageScope {
    const fn account(self) -> AccountKey {
        match self {
            Self::Account(account, _) | Self::Batch(account, _) => account,
        }
    }
}

/// Which requests of its scope a list holds. Times are in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    pub status: Option<RequestStatus>,
    /// Those that ended without an answer: failed and cancelled ones.
    pub is_unanswered: bool,
    pub model: Option<ModelKey>,
    /// Those created after this time.
    pub created_after: Option<i64>,
    /// Those created before this time.
    pub created_before: Option<i64>,
}

impl Filter {
    /// Whether it leaves any request out, so that a page may have to look at many for a few.
    fn is_set(&self) -> bool {
        *self != Self::default()
    }

    /// Whether a request that was in the list still is: its status is all that moves.
    fn holds(&self, request: &RequestSummary) -> bool {
        let status = request.state.status();
        self.status.is_none_or(|wanted| status == wanted)
            && (!self.is_unanswered || matches!(status, RequestStatus::Failed | RequestStatus::Cancelled))
    }
}

/// Some rows of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows, in order; a page of a list with a filter may have none and not be the last.
    pub rows: Vec<T>,
    /// Where the next page goes on; `None` at the end.
    pub next: Option<i64>,
}

statements! {
    SUMMARIES_OF_ACCOUNT_OLDEST_FIRST = "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at
        FROM current_requests WHERE account = ? AND seq > ? AND seq <= ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND created_at > ? AND created_at < ? ORDER BY seq LIMIT ?";
    SUMMARIES_OF_ACCOUNT_NEWEST_FIRST = "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at
        FROM current_requests WHERE account = ? AND seq < ? AND seq >= ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND created_at > ? AND created_at < ? ORDER BY seq DESC LIMIT ?";
    SUMMARIES_OF_BATCH = "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at
        FROM current_requests WHERE batch = ? AND batch IS NOT NULL AND seq > ? AND seq <= ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND created_at > ? AND created_at < ? ORDER BY seq LIMIT ?";
    /// The last row that is looked at for a page, where there are more behind it.
    EDGE_OF_ACCOUNT_OLDEST_FIRST = "SELECT seq FROM request_states WHERE account = ? AND seq > ? ORDER BY seq LIMIT 1 OFFSET ?";
    EDGE_OF_ACCOUNT_NEWEST_FIRST = "SELECT seq FROM request_states WHERE account = ? AND seq < ?
        ORDER BY seq DESC LIMIT 1 OFFSET ?";
    EDGE_OF_BATCH = "SELECT seq FROM request_states WHERE batch = ? AND batch IS NOT NULL AND seq > ?
        ORDER BY seq LIMIT 1 OFFSET ?";
}

pub(in crate::store) const fn summaries_of(scope: PageScope) -> &'static Sql {
    match scope {
        PageScope::Account(_, Direction::OldestFirst) => &SUMMARIES_OF_ACCOUNT_OLDEST_FIRST,
        PageScope::Account(_, Direction::NewestFirst) => &SUMMARIES_OF_ACCOUNT_NEWEST_FIRST,
        PageScope::Batch(..) => &SUMMARIES_OF_BATCH,
    }
}

pub(in crate::store) const fn records_of(scope: PageScope) -> &'static Sql {
    match scope {
        PageScope::Account(_, Direction::OldestFirst) => &RECORDS_OF_ACCOUNT_OLDEST_FIRST,
        PageScope::Account(_, Direction::NewestFirst) => &RECORDS_OF_ACCOUNT_NEWEST_FIRST,
        PageScope::Batch(..) => &RECORDS_OF_BATCH,
    }
}

pub(in crate::store) const fn edge_of(scope: PageScope) -> &'static Sql {
    match scope {
        PageScope::Account(_, Direction::OldestFirst) => &EDGE_OF_ACCOUNT_OLDEST_FIRST,
        PageScope::Account(_, Direction::NewestFirst) => &EDGE_OF_ACCOUNT_NEWEST_FIRST,
        PageScope::Batch(..) => &EDGE_OF_BATCH,
    }
}

/// A page of status records after `after`, `limit` rows at most.
pub async fn page_summaries(
    store: &Store,
    scope: PageScope,
    filter: &Filter,
    after: Option<i64>,
    limit: Option<i64>,
) -> Result<Page<RequestSummary>, StoreError> {
    let want = limit.map_or(SUMMARIES, |limit| limit.min(SUMMARIES));
    let edge = find_edge(store, scope, filter, after).await?;
    let query = bind(summaries_of(scope), scope, filter, (after, edge), want);
    let found = store.long_readers(scope.account()).fetch_all(query).await?;
    let rows = found.iter().map(row::request_summary).collect::<Result<Vec<_>, _>>()?;
    let last = found.last().filter(|_| rows.len() as i64 >= want);
    let next = last.map(|row| row.get("seq")).transpose()?;
    Ok(Page { rows, next: next.or(edge) })
}

/// A page of whole records after `after`, `limit` rows at most; about five mebibytes and one record.
///
/// Large bodies in the object store are read side by side, those in the database one by one after their lines. A request that left the
/// filter between the two reads is left out.
pub async fn page_records(
    store: &Store,
    scope: PageScope,
    filter: &Filter,
    after: Option<i64>,
    limit: Option<i64>,
) -> Result<Page<RequestRecord>, StoreError> {
    let want = limit.map_or(RECORDS, |limit| limit.min(RECORDS));
    let edge = find_edge(store, scope, filter, after).await?;
    let query = bind(records_of(scope), scope, filter, (after, edge), want);
    let readers = store.long_readers(scope.account());
    let found = readers.fetch_all(query).await?;
    let mut beside = fetch_beside(store, found.iter(), LARGE_BYTES).await?;
    let (mut rows, mut next, mut large_bytes) = (Vec::with_capacity(found.len()), None, 0);
    for row in &found {
        let seq = row.get("seq")?;
        if let Some(record) = read_record_in(row)? {
            rows.push(record);
        } else if large_bytes > LARGE_BYTES {
            return Ok(Page { rows, next });
        } else {
            let record = match beside.remove(&seq) {
                None => find_record_at(store, &readers, seq).await?,
                fetched => fetched,
            };
            if let Some(record) = record.filter(|it| filter.holds(&it.summary)) {
                let result_bytes = record.result.as_ref().map_or(0, Bytes::len);
                large_bytes += record.body.len() + result_bytes + record.client.heap_bytes();
                rows.push(record);
            }
        }
        next = Some(seq);
    }
    Ok(Page { rows, next: next.filter(|_| found.len() as i64 >= want).or(edge) })
}

/// The last row that one read of a list with a filter looks at; `None` where it reaches the end, or every row is wanted.
async fn find_edge(
    store: &Store,
    scope: PageScope,
    filter: &Filter,
    after: Option<i64>,
) -> Result<Option<i64>, StoreError> {
    if !filter.is_set() {
        return Ok(None);
    }
    let (key, start, _) = range(scope);
    let query = edge_of(scope).bind(key).bind(after.unwrap_or(start)).bind(LOOKED_MAX - 1);
    let row = store.long_readers(scope.account()).fetch_optional(query).await?;
    row.map(|row| row.get("seq")).transpose()
}

/// The key of a scope, and the row numbers before its first row and at its end.
const fn range(scope: PageScope) -> (i64, i64, i64) {
    match scope {
        PageScope::Account(AccountKey(account), Direction::OldestFirst) => (account, i64::MIN, i64::MAX),
        PageScope::Account(AccountKey(account), Direction::NewestFirst) => (account, i64::MAX, i64::MIN),
        PageScope::Batch(_, batch) => (batch, i64::MIN, i64::MAX),
    }
}

fn bind(
    sql: &'static Sql,
    scope: PageScope,
    filter: &Filter,
    (after, edge): (Option<i64>, Option<i64>),
    limit: i64,
) -> Statement {
    let (key, start, end) = range(scope);
    let (first, last) = match filter.is_unanswered {
        true => (row::FAILED, row::CANCELLED),
        false => row::codes(filter.status),
    };
    let model = filter.model.map(|model| model.0);
    sql.bind(key)
        .bind(after.unwrap_or(start))
        .bind(edge.unwrap_or(end))
        .bind(first)
        .bind(last)
        .bind(model)
        .bind(model)
        .bind(filter.created_after.unwrap_or(i64::MIN))
        .bind(filter.created_before.unwrap_or(i64::MAX))
        .bind(limit)
}
