//! Long lists of requests by pages: each continues after the last row of the previous one, so that no slow reader holds a transaction open,
//! and a list stays complete while requests are added.

use bytes::Bytes;
use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{AccountKey, ModelKey};

use crate::database::{Row, Sql, Statement, statements};
use crate::direction::Direction;
use crate::read_queue::LongReaders;
use crate::request_blocks::{self, Wanted};
use crate::requests::beside::fetch_beside;
use crate::requests::records::{
    RECORDS_OF_ACCOUNT_NEWEST_FIRST, RECORDS_OF_ACCOUNT_OLDEST_FIRST, RECORDS_OF_BATCH, find_record_at,
    read_record_in,
};
use crate::{Store, StoreError, row};

const SUMMARIES: i64 = 1024;

const RECORDS: i64 = 256;

/// In a read for a page that may have large bodies.
const RECORDS_FIRST: i64 = 16;

/// Requests examined per read of a filtered list.
const LOOKED_MAX: i64 = 1_024;

/// Bytes of large bodies after which a page ends. A request is large if it has more than 16,384 bytes.
const LARGE_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageScope {
    Account(AccountKey, Direction),
    /// All of a batch, by row number, in order of arrival.
    Batch(AccountKey, i64),
}

impl PageScope {
    const fn account(self) -> AccountKey {
        match self {
            Self::Account(account, _) | Self::Batch(account, _) => account,
        }
    }

    const fn direction(self) -> Direction {
        match self {
            Self::Account(_, direction) => direction,
            Self::Batch(..) => Direction::OldestFirst,
        }
    }

    /// What its rows have in common.
    const fn key(self) -> i64 {
        match self {
            Self::Account(AccountKey(key), _) | Self::Batch(_, key) => key,
        }
    }
}

/// Times are in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    pub status: Option<RequestStatus>,
    /// Failed and cancelled ones.
    pub is_unanswered: bool,
    pub model: Option<ModelKey>,
    pub created_after: Option<i64>,
    pub created_before: Option<i64>,
}

impl Filter {
    /// Whether it excludes any request, so that a page may have to examine many for a few.
    fn is_set(&self) -> bool {
        *self != Self::default()
    }

    /// The range of states that it covers.
    const fn states(&self) -> (i64, i64) {
        if self.is_unanswered { (row::FAILED, row::CANCELLED) } else { row::codes(self.status) }
    }

    const fn wanted(&self) -> Wanted {
        let &Self { model, created_after, created_before, .. } = self;
        Wanted { states: self.states(), model, created_after, created_before }
    }

    /// Whether a listed request still matches: only its status can change.
    fn holds(&self, request: &RequestSummary) -> bool {
        let status = request.state.status();
        self.status.is_none_or(|wanted| status == wanted)
            && (!self.is_unanswered || matches!(status, RequestStatus::Failed | RequestStatus::Cancelled))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// In order; a page of a filtered list may be empty without being the last.
    pub rows: Vec<T>,
    /// Where the next page continues; `None` at the end.
    pub next: Option<i64>,
}

impl<T> Page<T> {
    /// The page at the end.
    const fn empty() -> Self {
        Self { rows: Vec::new(), next: None }
    }
}

statements! {
    SUMMARIES_OF_ACCOUNT_OLDEST_FIRST = "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at
        FROM current_requests WHERE account = ? AND seq > ? AND seq <= ? AND stored_state BETWEEN ? AND ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND created_at > ? AND created_at < ? ORDER BY seq LIMIT ?";
    SUMMARIES_OF_ACCOUNT_NEWEST_FIRST = "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at
        FROM current_requests WHERE account = ? AND seq < ? AND seq >= ? AND stored_state BETWEEN ? AND ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND created_at > ? AND created_at < ? ORDER BY seq DESC LIMIT ?";
    SUMMARIES_OF_BATCH = "SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at
        FROM current_requests WHERE batch = ? AND batch IS NOT NULL AND seq > ? AND seq <= ? AND stored_state BETWEEN ? AND ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND created_at > ? AND created_at < ? ORDER BY seq LIMIT ?";
    /// The last row examined for a page, if more follow.
    EDGE_OF_ACCOUNT_OLDEST_FIRST = "SELECT seq FROM request_states WHERE account = ? AND seq > ? ORDER BY seq LIMIT 1 OFFSET ?";
    EDGE_OF_ACCOUNT_NEWEST_FIRST = "SELECT seq FROM request_states WHERE account = ? AND seq < ?
        ORDER BY seq DESC LIMIT 1 OFFSET ?";
    EDGE_OF_BATCH = "SELECT seq FROM request_states WHERE batch = ? AND batch IS NOT NULL AND seq > ?
        ORDER BY seq LIMIT 1 OFFSET ?";
}

pub(crate) const fn summaries_of(scope: PageScope) -> &'static Sql {
    match scope {
        PageScope::Account(_, Direction::OldestFirst) => &SUMMARIES_OF_ACCOUNT_OLDEST_FIRST,
        PageScope::Account(_, Direction::NewestFirst) => &SUMMARIES_OF_ACCOUNT_NEWEST_FIRST,
        PageScope::Batch(..) => &SUMMARIES_OF_BATCH,
    }
}

pub(crate) const fn records_of(scope: PageScope) -> &'static Sql {
    match scope {
        PageScope::Account(_, Direction::OldestFirst) => &RECORDS_OF_ACCOUNT_OLDEST_FIRST,
        PageScope::Account(_, Direction::NewestFirst) => &RECORDS_OF_ACCOUNT_NEWEST_FIRST,
        PageScope::Batch(..) => &RECORDS_OF_BATCH,
    }
}

pub(crate) const fn edge_of(scope: PageScope) -> &'static Sql {
    match scope {
        PageScope::Account(_, Direction::OldestFirst) => &EDGE_OF_ACCOUNT_OLDEST_FIRST,
        PageScope::Account(_, Direction::NewestFirst) => &EDGE_OF_ACCOUNT_NEWEST_FIRST,
        PageScope::Batch(..) => &EDGE_OF_BATCH,
    }
}

pub async fn page_summaries(
    store: &Store,
    scope: PageScope,
    filter: &Filter,
    after: Option<i64>,
    limit: Option<i64>,
) -> Result<Page<RequestSummary>, StoreError> {
    let want = limit.map_or(SUMMARIES, |limit| limit.min(SUMMARIES));
    let Some(Range { after, edge }) = find_range(store, scope, filter, after).await? else {
        return Ok(Page::empty());
    };
    let query = bind(summaries_of(scope), scope, filter, Range { after, edge }, want);
    let found = store.long_readers(scope.account()).fetch_all(query).await?;
    let rows = found.iter().map(row::request_summary).collect::<Result<Vec<_>, _>>()?;
    let last = found.last().filter(|_| rows.len() as i64 >= want);
    let next = last.map(|row| row.get("seq")).transpose()?;
    Ok(Page { rows, next: next.or(edge) })
}

/// Up to `limit` rows and about five mebibytes, plus one record.
///
/// Large bodies in the object store are read concurrently, bodies in the database one by one after their rows. A request that stopped
/// matching between the two reads is left out.
pub async fn page_records(
    store: &Store,
    scope: PageScope,
    filter: &Filter,
    after: Option<i64>,
    limit: Option<i64>,
) -> Result<Page<RequestRecord>, StoreError> {
    let want = limit.map_or(RECORDS, |limit| limit.min(RECORDS));
    let Some(Range { after, edge }) = find_range(store, scope, filter, after).await? else {
        return Ok(Page::empty());
    };
    let readers = store.long_readers(scope.account());
    let (mut page, mut looked, mut bytes) = (Page { rows: Vec::new(), next: after }, 0, 0);
    // Where bodies are large, a few rows fill the page: the first read is of few, and so is each while there are large bodies.
    while looked < want {
        let few = if looked > 0 && bytes == 0 { want } else { RECORDS_FIRST };
        let step = few.min(want - looked);
        let query = bind(records_of(scope), scope, filter, Range { after: page.next, edge }, step);
        let found = readers.fetch_all(query).await?;
        if !read_records(store, &readers, filter, &found, (&mut page, &mut bytes)).await? {
            return Ok(page);
        }
        if (found.len() as i64) < step {
            return Ok(Page { next: edge, ..page });
        }
        looked += step;
    }
    Ok(page)
}

/// Adds the records of these rows to a page; returns whether it has room for more.
async fn read_records(
    store: &Store,
    readers: &LongReaders<'_>,
    filter: &Filter,
    found: &[Row],
    (page, large_bytes): (&mut Page<RequestRecord>, &mut usize),
) -> Result<bool, StoreError> {
    let mut beside = fetch_beside(store, found.iter(), LARGE_BYTES.saturating_sub(*large_bytes)).await?;
    for row in found {
        let seq = row.get("seq")?;
        if let Some(record) = read_record_in(row)? {
            page.rows.push(record);
        } else if *large_bytes > LARGE_BYTES {
            return Ok(false);
        } else {
            let record = match beside.remove(&seq) {
                None => find_record_at(store, readers, seq).await?,
                fetched => fetched,
            };
            if let Some(record) = record.filter(|it| filter.holds(&it.summary)) {
                let result_bytes = record.result.as_ref().map_or(0, Bytes::len);
                *large_bytes += record.body.len() + result_bytes + record.client.heap_bytes();
                page.rows.push(record);
            }
        }
        page.next = Some(seq);
    }
    Ok(true)
}

/// The rows that one read examines.
struct Range {
    after: Option<i64>,
    /// The last one; `None` if the read reaches the end.
    edge: Option<i64>,
}

/// The range of the next read; `None` if no other request can match.
async fn find_range(
    store: &Store,
    scope: PageScope,
    filter: &Filter,
    after: Option<i64>,
) -> Result<Option<Range>, StoreError> {
    if !filter.is_set() {
        return Ok(Some(Range { after, edge: None }));
    }
    let (readers, direction) = (store.long_readers(scope.account()), scope.direction());
    let after = after.unwrap_or(direction.ends().0);
    let Some(after) = request_blocks::skip(&readers, direction, &filter.wanted(), after).await? else {
        return Ok(None);
    };
    let edge = edge_of(scope).bind(scope.key()).bind(after).bind(LOOKED_MAX - 1);
    let row = readers.fetch_optional(edge).await?;
    let edge = row.map(|row| row.get("seq")).transpose()?;
    Ok(Some(Range { after: Some(after), edge }))
}

fn bind(
    sql: &'static Sql,
    scope: PageScope,
    filter: &Filter,
    Range { after, edge }: Range,
    limit: i64,
) -> Statement {
    let (start, end) = scope.direction().ends();
    let states = filter.states();
    let stored = row::stored_codes(states);
    let model = filter.model.map(|model| model.0);
    sql.bind(scope.key())
        .bind(after.unwrap_or(start))
        .bind(edge.unwrap_or(end))
        .bind(stored.0)
        .bind(stored.1)
        .bind(states.0)
        .bind(states.1)
        .bind(model)
        .bind(model)
        .bind(filter.created_after.unwrap_or(i64::MIN))
        .bind(filter.created_before.unwrap_or(i64::MAX))
        .bind(limit)
}
