//! Looking at events and at their tries.

use overnight_domain::ids::{BatchId, DeliveryId, EventId, RequestId};
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;
use sha2::{Digest, Sha256};

use super::announcing::low_half;
use super::states::{EventState, kind_of};
use crate::store::database::{Row, Statement, sql};
use crate::store::{Store, StoreError};

/// An event and how far it has come. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// Its identifier.
    pub id: EventId,
    /// What happened.
    pub kind: EventKind,
    /// To which request or batch, as the API names it; `None` of a test, and where that was erased.
    pub subject: Option<String>,
    /// When it happened.
    pub created_at: i64,
    /// Whether it was delivered or given up.
    pub state: EventState,
    /// Since when it is being sent.
    pub sending_since: Option<i64>,
    /// When it is tried next.
    pub due_at: Option<i64>,
    /// When it was delivered or given up.
    pub ended_at: Option<i64>,
    /// How often it was tried.
    pub tries: i64,
    /// Where it leads; `None` where that was erased.
    pub url: Option<String>,
}

/// Which events are listed, the newest first.
#[derive(Debug, Clone, Copy)]
pub struct EventFilter {
    /// Whose; `None` for everybody's.
    pub account: Option<AccountKey>,
    /// In which state; `None` for any.
    pub state: Option<EventState>,
    /// Those behind this one.
    pub before: Option<EventId>,
    /// How many at most.
    pub limit: u32,
}

/// A try. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRecord {
    /// Its identifier.
    pub id: DeliveryId,
    /// The event that was told.
    pub event: EventId,
    /// What happened.
    pub kind: EventKind,
    /// Which of the event's tries it was, counted from 1.
    pub number: i64,
    /// When it began.
    pub started_at: i64,
    /// How long it took; `None` where nobody knows.
    pub duration_ms: Option<i64>,
    /// To which request or batch, as the API names it; `None` of a test, and where that was erased.
    pub subject: Option<String>,
    /// Where it led; `None` where that was erased.
    pub url: Option<String>,
    /// The HTTP status of the answer, if one came.
    pub status: Option<i64>,
    /// Why none came.
    pub failure: Option<String>,
}

/// What [`read_event`] reads, of `events e`, `requests r` and `batches b`.
macro_rules! select_event {
    ($behind:expr) => {
        concat!(
            "SELECT e.id, e.kind, r.id, b.id, e.created_at, e.state, CASE WHEN e.owner IS NOT NULL THEN e.claimed_at END, \
             e.due_at, e.ended_at, e.number, coalesce(e.url, r.webhook, b.webhook) FROM events e \
             LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch WHERE ",
            $behind
        )
    };
}

pub(in crate::store) const OF_ACCOUNT: &str = select_event!(
    "e.account = ? AND e.seq < coalesce((SELECT o.seq FROM events o WHERE o.id = ?), 9223372036854775807) \
     AND e.state BETWEEN ? AND ? ORDER BY e.seq DESC LIMIT ? + 0"
);
const OF_ALL: &str = select_event!(
    "e.seq < coalesce((SELECT o.seq FROM events o WHERE o.id = ?), 9223372036854775807) \
     AND e.state BETWEEN ? AND ? ORDER BY e.seq DESC LIMIT ? + 0"
);

/// Some events, the newest first.
pub async fn list(store: &Store, filter: EventFilter) -> Result<Vec<EventRecord>, StoreError> {
    let (first, last) = match filter.state {
        Some(state) => (state.code(), state.code()),
        None => (i64::MIN, i64::MAX),
    };
    let query = match filter.account {
        Some(account) => sql(OF_ACCOUNT).bind(account.0),
        None => sql(OF_ALL),
    };
    let query = query.bind(filter.before.map(|id| id.to_bytes().to_vec())).bind(first).bind(last);
    store.readers().fetch_all(query.bind(filter.limit)).await?.iter().map(read_event).collect()
}

/// The event with this identifier.
pub async fn find(store: &Store, id: EventId) -> Result<Option<EventRecord>, StoreError> {
    let query = sql(select_event!("e.id = ?")).bind(id.to_bytes());
    store.readers().fetch_optional(query).await?.as_ref().map(read_event).transpose()
}

/// The event with this identifier, if it is one of the account's.
pub async fn find_own(
    store: &Store,
    account: AccountKey,
    id: EventId,
) -> Result<Option<EventRecord>, StoreError> {
    let query = sql(select_event!("e.id = ? AND e.account = ?")).bind(id.to_bytes()).bind(account.0);
    store.readers().fetch_optional(query).await?.as_ref().map(read_event).transpose()
}

fn read_event(row: &Row) -> Result<EventRecord, StoreError> {
    Ok(EventRecord {
        id: EventId::from_bytes(row.get(0)?).ok_or(StoreError::Damaged("an event's id"))?,
        kind: kind_of(row.get(1)?)?,
        subject: subject(row, 2)?,
        created_at: row.get(4)?,
        state: EventState::of(row.get(5)?)?,
        sending_since: row.get(6)?,
        due_at: row.get(7)?,
        ended_at: row.get(8)?,
        tries: row.get(9)?,
        url: row.get(10)?,
    })
}

/// The request or batch of two columns, one of which is null.
fn subject(row: &Row, first: usize) -> Result<Option<String>, StoreError> {
    let request: Option<&[u8]> = row.get(first)?;
    let batch: Option<&[u8]> = row.get(first + 1)?;
    let request = request.and_then(RequestId::from_bytes).map(|id| id.to_string());
    Ok(request.or_else(|| batch.and_then(BatchId::from_bytes).map(|id| id.to_string())))
}

macro_rules! select_delivery {
    ($behind:expr) => {
        concat!(
            "SELECT e.id, e.kind, r.id, b.id, d.number, d.started_at, d.duration_ms, d.status, d.failure, e.url \
             FROM deliveries d JOIN events e ON e.seq = d.event \
             LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch WHERE ",
            $behind
        )
    };
}

/// A try, by what it is told by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TryPlace {
    /// The event.
    pub event: EventId,
    /// Which of its tries.
    pub number: i64,
}

/// Which tries are listed, the newest first.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryFilter {
    /// Whose; `None` for everybody's.
    pub account: Option<AccountKey>,
    /// Of which event; `None` for all.
    pub event: Option<EventId>,
    /// Those behind this one.
    pub before: Option<TryPlace>,
    /// How many at most.
    pub limit: u32,
}

/// Builds the text of the tries of some events, the newest first.
macro_rules! select_tries {
    ($of:literal) => {
        select_delivery!(concat!(
            $of,
            " AND (d.started_at, d.event, d.number) < (?, ?, ?) \
             ORDER BY d.started_at DESC, d.event DESC, d.number DESC LIMIT ? + 0"
        ))
    };
}

/// The same of one event.
macro_rules! select_tries_of_event {
    ($of:literal) => {
        select_delivery!(concat!($of, " AND d.number < ? ORDER BY d.number DESC LIMIT ? + 0"))
    };
}

pub(in crate::store) const TRIES_OF_ACCOUNT: &str = select_tries!("d.account = ?");

/// Some tries, the newest first.
pub async fn list_deliveries(
    store: &Store,
    filter: DeliveryFilter,
) -> Result<Vec<DeliveryRecord>, StoreError> {
    let Some([started_at, event, number]) = find_place(store, filter.before).await? else {
        return Ok(Vec::new());
    };
    let behind = |query: Statement| query.bind(started_at).bind(event).bind(number);
    let query = match (filter.event, filter.account) {
        (Some(id), Some(account)) => {
            let text = select_tries_of_event!("e.id = ? AND d.account = ?");
            sql(text).bind(id.to_bytes()).bind(account.0).bind(number)
        }
        (Some(id), None) => sql(select_tries_of_event!("e.id = ?")).bind(id.to_bytes()).bind(number),
        (None, Some(account)) => behind(sql(TRIES_OF_ACCOUNT).bind(account.0)),
        (None, None) => behind(sql(select_tries!("d.event > 0"))),
    };
    store.readers().fetch_all(query.bind(filter.limit)).await?.iter().map(read_delivery).collect()
}

/// Behind which `started_at, event, number` a list goes on; `None` where there is no such try.
async fn find_place(store: &Store, before: Option<TryPlace>) -> Result<Option<[i64; 3]>, StoreError> {
    let Some(TryPlace { event, number }) = before else { return Ok(Some([i64::MAX; 3])) };
    let text = "SELECT d.started_at, d.event, d.number FROM events e JOIN deliveries d ON d.event = e.seq
                WHERE e.id = ? AND d.number = ?";
    let found = store.readers().fetch_optional(sql(text).bind(event.to_bytes()).bind(number)).await?;
    found.map(|row| Ok([row.get(0)?, row.get(1)?, row.get(2)?])).transpose()
}

/// How many events that are no tests have been given up since a time, in milliseconds. Reads them all.
pub async fn count_exhausted(store: &Store, since: i64) -> Result<i64, StoreError> {
    let text = "SELECT count(*) FROM events WHERE state = 2 AND kind <> 5 AND ended_at > ?";
    store.readers().fetch_one(sql(text).bind(since)).await?.get(0)
}

fn read_delivery(row: &Row) -> Result<DeliveryRecord, StoreError> {
    let event = EventId::from_bytes(row.get(0)?).ok_or(StoreError::Damaged("an event's id"))?;
    let (number, started_at): (i64, i64) = (row.get(4)?, row.get(5)?);
    // A try is told by its event and its number, and has no name of its own in the table.
    let digest = Sha256::new()
        .chain_update(b"try of ")
        .chain_update(event.to_bytes())
        .chain_update(number.to_le_bytes())
        .finalize();
    Ok(DeliveryRecord {
        id: DeliveryId::derived(started_at, low_half(&digest)),
        event,
        kind: kind_of(row.get(1)?)?,
        number,
        started_at,
        duration_ms: row.get(6)?,
        subject: subject(row, 2)?,
        url: row.get(9)?,
        status: row.get(7)?,
        failure: row.get(8)?,
    })
}
