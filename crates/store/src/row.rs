//! States in columns.

use memchr::memchr;
use overnight_domain::batches::{BatchState, Counters};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::records::RequestSummary;
use overnight_domain::requests::{RequestState, RequestStatus};
use overnight_domain::traces::TraceContext;

use crate::StoreError;
use crate::database::{Row, note_damage};

/// Values of `request_states.state`; predicates of partial indexes have the same literal numbers. 2 is never stored: a request in progress
/// is queued in `request_states`, and has an `in_progress_at` in `queue`.
pub(super) const GATHERING: i64 = 0;
pub(super) const QUEUED: i64 = 1;
pub(super) const IN_PROGRESS: i64 = 2;
pub(super) const COMPLETED: i64 = 3;
pub(super) const FAILED: i64 = 4;
pub(super) const CANCELLED: i64 = 5;

pub(super) const fn code(state: &RequestState) -> i64 {
    match state {
        RequestState::Gathering { .. } => GATHERING,
        RequestState::Queued => QUEUED,
        RequestState::InProgress { .. } => IN_PROGRESS,
        RequestState::Completed { .. } => COMPLETED,
        RequestState::Failed { .. } => FAILED,
        RequestState::Cancelled { .. } => CANCELLED,
    }
}

/// For a live state.
pub(super) const fn stored_code(state: &RequestState) -> i64 {
    match state {
        RequestState::InProgress { .. } => QUEUED,
        state => code(state),
    }
}

/// The range of states that a status covers.
pub(super) const fn codes(status: Option<RequestStatus>) -> (i64, i64) {
    match status {
        None => (GATHERING, CANCELLED),
        Some(RequestStatus::Registered) => (GATHERING, QUEUED),
        Some(RequestStatus::InProgress) => (IN_PROGRESS, IN_PROGRESS),
        Some(RequestStatus::Completed) => (COMPLETED, COMPLETED),
        Some(RequestStatus::Failed) => (FAILED, FAILED),
        Some(RequestStatus::Cancelled) => (CANCELLED, CANCELLED),
    }
}

/// The same range as stored: that a request is in progress is stored in the queue.
pub(super) const fn stored_codes((first, last): (i64, i64)) -> (i64, i64) {
    const fn stored(code: i64) -> i64 {
        if code == IN_PROGRESS { QUEUED } else { code }
    }
    (stored(first), stored(last))
}

/// A stored body must be JSON without white space: other bytes mean a failed disk.
pub(super) fn body<B: AsRef<[u8]>>(bytes: B, column: &'static str) -> Result<B, StoreError> {
    let text = bytes.as_ref();
    if !text.is_empty() && memchr(0, text).is_none() && str::from_utf8(text).is_ok() {
        return Ok(bytes);
    }
    let error = StoreError::DamagedColumn(column);
    note_damage(&error);
    Err(error)
}

/// Reads `endpoint`.
pub(super) fn endpoint(row: &Row) -> Result<Endpoint, StoreError> {
    Endpoint::from_code(row.get("endpoint")?).ok_or(StoreError::DamagedColumn("endpoint"))
}

/// Reads `trace`.
pub(super) fn trace(row: &Row) -> Result<Option<TraceContext>, StoreError> {
    let stored: Option<Vec<u8>> = row.get("trace")?;
    let read = |bytes: &Vec<u8>| TraceContext::from_bytes(bytes).ok_or(StoreError::DamagedColumn("trace"));
    stored.as_ref().map(read).transpose()
}

pub(super) fn status(code: i64) -> Result<RequestStatus, StoreError> {
    match code {
        GATHERING | QUEUED => Ok(RequestStatus::Registered),
        IN_PROGRESS => Ok(RequestStatus::InProgress),
        COMPLETED => Ok(RequestStatus::Completed),
        FAILED => Ok(RequestStatus::Failed),
        CANCELLED => Ok(RequestStatus::Cancelled),
        _ => Err(StoreError::Damaged("a request's state")),
    }
}

/// Reads `state, ready_at, in_progress_at, ended_at`.
pub(super) fn request_state(row: &Row) -> Result<RequestState, StoreError> {
    let missing = || StoreError::Damaged("a time of the request's state is missing");
    let (in_progress_at, ended_at) =
        (row.get::<Option<i64>>("in_progress_at")?, row.get::<Option<i64>>("ended_at")?);
    Ok(match row.get("state")? {
        GATHERING => RequestState::Gathering { ready_at: row.get("ready_at")? },
        QUEUED => RequestState::Queued,
        IN_PROGRESS => RequestState::InProgress { in_progress_at: in_progress_at.ok_or_else(missing)? },
        COMPLETED => RequestState::Completed {
            in_progress_at: in_progress_at.ok_or_else(missing)?,
            ended_at: ended_at.ok_or_else(missing)?,
        },
        FAILED => RequestState::Failed { in_progress_at, ended_at: ended_at.ok_or_else(missing)? },
        CANCELLED => RequestState::Cancelled { in_progress_at, ended_at: ended_at.ok_or_else(missing)? },
        _ => return Err(StoreError::Damaged("a request's state")),
    })
}

/// Reads `id, state, ready_at, in_progress_at, ended_at, created_at, expires_at`.
pub(super) fn request_summary(row: &Row) -> Result<RequestSummary, StoreError> {
    Ok(RequestSummary {
        id: row.get("id")?,
        state: request_state(row)?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
    })
}

/// Reads `in_progress_at, completed_at, cancelled_at`.
pub(super) fn batch_state(row: &Row) -> Result<BatchState, StoreError> {
    let in_progress_at: Option<i64> = row.get("in_progress_at")?;
    let completed_at: Option<i64> = row.get("completed_at")?;
    let cancelled_at: Option<i64> = row.get("cancelled_at")?;
    Ok(match (in_progress_at, completed_at, cancelled_at) {
        (in_progress_at, None, Some(cancelled_at)) => BatchState::Cancelled { in_progress_at, cancelled_at },
        (Some(in_progress_at), Some(completed_at), None) => {
            BatchState::Completed { in_progress_at, completed_at }
        }
        (Some(in_progress_at), None, None) => BatchState::InProgress { in_progress_at },
        (None, None, None) => BatchState::Registered,
        _ => return Err(StoreError::Damaged("a batch's times")),
    })
}

/// Reads `registered, in_progress, completed, failed, cancelled`.
pub(super) fn counters(row: &Row) -> Result<Counters, StoreError> {
    Ok(Counters {
        registered: row.get("registered")?,
        in_progress: row.get("in_progress")?,
        completed: row.get("completed")?,
        failed: row.get("failed")?,
        cancelled: row.get("cancelled")?,
    })
}
