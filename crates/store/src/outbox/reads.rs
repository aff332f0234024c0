//! Reading events and their tries.

use overnight_domain::ids::{BatchId, DeliveryId, EventId, RequestId};
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;
use sha2::{Digest, Sha256};

use crate::database::{Row, Statement, statements};
use crate::direction::Direction;
use crate::effects::low_half;
use crate::event_states::{EventState, kind_of};
use crate::lists::{self, LOOKED_MAX, ListPage, Question};
use crate::{Store, StoreError};

/// Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    pub id: EventId,
    pub kind: EventKind,
    /// The request or batch, as the API names it; `None` for a test, and if erased.
    pub subject: Option<String>,
    pub created_at: i64,
    pub state: EventState,
    pub sending_since: Option<i64>,
    pub due_at: Option<i64>,
    /// When it was delivered or given up.
    pub ended_at: Option<i64>,
    pub tries: i64,
    /// `None` if erased.
    pub url: Option<String>,
}

/// Newest first.
#[derive(Debug, Clone, Copy)]
pub struct EventFilter {
    /// `None` for all.
    pub account: Option<AccountKey>,
    /// `None` for any.
    pub state: Option<EventState>,
    /// Events older than this row.
    pub before: Option<i64>,
    pub limit: u32,
}

/// Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRecord {
    pub id: DeliveryId,
    pub event: EventId,
    pub kind: EventKind,
    /// The event's tries, from 1.
    pub number: i64,
    pub started_at: i64,
    /// `None` if unknown.
    pub duration_ms: Option<i64>,
    /// The request or batch, as the API names it; `None` for a test, and if erased.
    pub subject: Option<String>,
    /// `None` if erased.
    pub url: Option<String>,
    /// Of the answer, if any.
    pub status: Option<i64>,
    /// Why there was no answer.
    pub failure: Option<String>,
}

statements! {
    OF_ACCOUNT = "SELECT e.seq, e.id, e.kind, r.id AS request_id, b.id AS batch_id, e.created_at, e.state,
               CASE WHEN e.node IS NOT NULL THEN e.claimed_at END AS sending_since, e.due_at, e.ended_at,
               e.number AS tries, coalesce(e.url, r.webhook, b.webhook) AS url
        FROM events e LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.account = ? AND e.seq < ? AND e.seq >= ? AND e.state BETWEEN ? AND ? ORDER BY e.seq DESC LIMIT ?";
    OF_ALL = "SELECT e.seq, e.id, e.kind, r.id AS request_id, b.id AS batch_id, e.created_at, e.state,
               CASE WHEN e.node IS NOT NULL THEN e.claimed_at END AS sending_since, e.due_at, e.ended_at,
               e.number AS tries, coalesce(e.url, r.webhook, b.webhook) AS url
        FROM events e LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.seq < ? AND e.seq >= ? AND e.state BETWEEN ? AND ? ORDER BY e.seq DESC LIMIT ?";
    /// The last row examined by one statement.
    FLOOR_OF_ACCOUNT = "SELECT seq FROM events WHERE account = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?";
    FLOOR_OF_ALL = "SELECT seq FROM events WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?";
    FIND = "SELECT e.id, e.kind, r.id AS request_id, b.id AS batch_id, e.created_at, e.state,
               CASE WHEN e.node IS NOT NULL THEN e.claimed_at END AS sending_since, e.due_at, e.ended_at,
               e.number AS tries, coalesce(e.url, r.webhook, b.webhook) AS url
        FROM events e LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.id = ?";
    FIND_OWN = "SELECT e.id, e.kind, r.id AS request_id, b.id AS batch_id, e.created_at, e.state,
               CASE WHEN e.node IS NOT NULL THEN e.claimed_at END AS sending_since, e.due_at, e.ended_at,
               e.number AS tries, coalesce(e.url, r.webhook, b.webhook) AS url
        FROM events e LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.id = ? AND e.account = ?";
    TRIES_OF_ACCOUNT = "SELECT e.id, e.kind, r.id AS request_id, b.id AS batch_id, d.number, d.started_at, d.duration_ms,
               d.status, d.failure, e.url
        FROM deliveries d JOIN events e ON e.seq = d.event
        LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE d.account = ? AND (d.started_at, d.event, d.number) < (?, ?, ?)
        ORDER BY d.started_at DESC, d.event DESC, d.number DESC LIMIT ?";
    TRIES_OF_ALL = "SELECT e.id, e.kind, r.id AS request_id, b.id AS batch_id, d.number, d.started_at, d.duration_ms,
               d.status, d.failure, e.url
        FROM deliveries d JOIN events e ON e.seq = d.event
        LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE d.event > 0 AND (d.started_at, d.event, d.number) < (?, ?, ?)
        ORDER BY d.started_at DESC, d.event DESC, d.number DESC LIMIT ?";
    TRIES_OF_EVENT = "SELECT e.id, e.kind, r.id AS request_id, b.id AS batch_id, d.number, d.started_at, d.duration_ms,
               d.status, d.failure, e.url
        FROM deliveries d JOIN events e ON e.seq = d.event
        LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.id = ? AND d.number < ? ORDER BY d.number DESC LIMIT ?";
    TRIES_OF_OWN_EVENT = "SELECT e.id, e.kind, r.id AS request_id, b.id AS batch_id, d.number, d.started_at, d.duration_ms,
               d.status, d.failure, e.url
        FROM deliveries d JOIN events e ON e.seq = d.event
        LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.id = ? AND d.account = ? AND d.number < ? ORDER BY d.number DESC LIMIT ?";
    /// Where a list of tries continues.
    FIND_PLACE = "SELECT d.started_at, d.event, d.number FROM events e JOIN deliveries d ON d.event = e.seq
        WHERE e.id = ? AND d.number = ?";
    COUNT_EXHAUSTED = "SELECT count(*) AS count FROM events
        WHERE state = 2 /* exhausted */ AND kind <> 5 /* webhook.test */ AND ended_at > ?";
    WAITING = "SELECT count(*) AS waiting, count(CASE WHEN number > 0 THEN 1 END) AS failing,
               min(CASE WHEN number > 0 THEN created_at END) AS failing_since
        FROM events WHERE due_at IS NOT NULL AND kind <> 5 /* webhook.test */";
}

/// No account: row numbers begin at 1.
const NOBODY: AccountKey = AccountKey(0);

/// Newest first; examines at most 20,000.
pub async fn list(store: &Store, filter: EventFilter) -> Result<ListPage<EventRecord>, StoreError> {
    // Only an operator's command lists all accounts' events, with readers of its own.
    let readers = store.long_readers(filter.account.unwrap_or(NOBODY));
    lists::page(&readers, None, question(filter), read_event).await
}

/// The statements for such a page.
pub(crate) fn question(
    filter: EventFilter,
) -> Question<impl Fn(i64, u32) -> Statement, impl Fn(i64, i64, usize) -> Statement> {
    let EventFilter { account, state, before, limit } = filter;
    let (first, last) = state.map_or((i64::MIN, i64::MAX), |state| (state.code(), state.code()));
    Question {
        direction: Direction::NewestFirst,
        wanted: None,
        before,
        rows_max: limit as usize,
        looked_max: LOOKED_MAX,
        floor: move |behind, count| {
            let query = account.map_or_else(|| FLOOR_OF_ALL.unbound(), |it| FLOOR_OF_ACCOUNT.bind(it));
            query.bind(behind).bind(count - 1)
        },
        rows: move |behind, floor, limit| {
            let query = account.map_or_else(|| OF_ALL.unbound(), |it| OF_ACCOUNT.bind(it));
            query.bind(behind).bind(floor).bind(first).bind(last).bind(limit as i64)
        },
    }
}

pub async fn find(store: &Store, id: EventId) -> Result<Option<EventRecord>, StoreError> {
    let query = FIND.bind(id);
    store.readers().fetch_optional(query).await?.as_ref().map(read_event).transpose()
}

/// `None` for another account's event.
pub async fn find_own(
    store: &Store,
    account: AccountKey,
    id: EventId,
) -> Result<Option<EventRecord>, StoreError> {
    let query = FIND_OWN.bind(id).bind(account);
    store.readers().fetch_optional(query).await?.as_ref().map(read_event).transpose()
}

fn read_event(row: &Row) -> Result<EventRecord, StoreError> {
    Ok(EventRecord {
        id: row.get("id")?,
        kind: kind_of(row.get("kind")?)?,
        subject: read_subject(row)?,
        created_at: row.get("created_at")?,
        state: EventState::of(row.get("state")?)?,
        sending_since: row.get("sending_since")?,
        due_at: row.get("due_at")?,
        ended_at: row.get("ended_at")?,
        tries: row.get("tries")?,
        url: row.get("url")?,
    })
}

/// Reads `request_id, batch_id`, one of which is null.
fn read_subject(row: &Row) -> Result<Option<String>, StoreError> {
    let request: Option<RequestId> = row.get("request_id")?;
    let batch: Option<BatchId> = row.get("batch_id")?;
    Ok(request.map(|id| id.to_string()).or_else(|| batch.map(|id| id.to_string())))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryCursor {
    pub event: EventId,
    pub number: i64,
}

/// Newest first.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryFilter {
    /// `None` for all.
    pub account: Option<AccountKey>,
    /// `None` for all.
    pub event: Option<EventId>,
    pub before: Option<DeliveryCursor>,
    pub limit: u32,
}

/// Newest first.
pub async fn list_deliveries(
    store: &Store,
    filter: DeliveryFilter,
) -> Result<Vec<DeliveryRecord>, StoreError> {
    let Some([started_at, event, number]) = find_place(store, filter.before).await? else {
        return Ok(Vec::new());
    };
    let behind = |query: Statement| query.bind(started_at).bind(event).bind(number);
    let query = match (filter.event, filter.account) {
        (Some(id), Some(account)) => TRIES_OF_OWN_EVENT.bind(id).bind(account).bind(number),
        (Some(id), None) => TRIES_OF_EVENT.bind(id).bind(number),
        (None, Some(account)) => behind(TRIES_OF_ACCOUNT.bind(account)),
        (None, None) => behind(TRIES_OF_ALL.unbound()),
    };
    store.readers().fetch_all(query.bind(filter.limit)).await?.iter().map(read_delivery).collect()
}

/// The key `started_at, event, number` of a try; `None` for an unknown one.
async fn find_place(store: &Store, before: Option<DeliveryCursor>) -> Result<Option<[i64; 3]>, StoreError> {
    let Some(DeliveryCursor { event, number }) = before else { return Ok(Some([i64::MAX; 3])) };
    let found = store.readers().fetch_optional(FIND_PLACE.bind(event).bind(number)).await?;
    found.map(|row| Ok([row.get("started_at")?, row.get("event")?, row.get("number")?])).transpose()
}

/// Events given up since a time in milliseconds, without tests. Reads them all.
pub async fn count_exhausted(store: &Store, since: i64) -> Result<i64, StoreError> {
    store.readers().fetch_one(COUNT_EXHAUSTED.bind(since)).await?.get("count")
}

/// Without tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WaitingEvents {
    pub waiting: i64,
    /// Events with failed tries.
    pub failing: i64,
    /// When the oldest of those happened, in milliseconds.
    pub failing_since: Option<i64>,
}

pub async fn count_waiting(store: &Store) -> Result<WaitingEvents, StoreError> {
    let row = store.readers().fetch_one(WAITING.unbound()).await?;
    Ok(WaitingEvents {
        waiting: row.get("waiting")?,
        failing: row.get("failing")?,
        failing_since: row.get("failing_since")?,
    })
}

fn read_delivery(row: &Row) -> Result<DeliveryRecord, StoreError> {
    let event: EventId = row.get("id")?;
    let (number, started_at): (i64, i64) = (row.get("number")?, row.get("started_at")?);
    // A try is known by its event and number, and has no identifier in the table.
    let digest = Sha256::new()
        .chain_update(b"try of ")
        .chain_update(event.to_bytes())
        .chain_update(number.to_le_bytes())
        .finalize();
    Ok(DeliveryRecord {
        id: DeliveryId::derived(started_at, low_half(&digest)),
        event,
        kind: kind_of(row.get("kind")?)?,
        number,
        started_at,
        duration_ms: row.get("duration_ms")?,
        subject: read_subject(row)?,
        url: row.get("url")?,
        status: row.get("status")?,
        failure: row.get("failure")?,
    })
}
