//! Records of requests made of parts of an input.

use bytes::Bytes;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::json::Json;
use overnight_domain::records::{ClientFields, FailedAttempt, RequestRecord, RequestSummary};
use overnight_domain::requests::{COMPLETION_WINDOW_MS, RequestState};

const CREATED_AT: i64 = 1_751_500_000_999;

pub(crate) const STATES: [RequestState; 6] = [
    RequestState::Gathering { ready_at: CREATED_AT + 1 },
    RequestState::Queued,
    RequestState::InProgress { in_progress_at: CREATED_AT + 2 },
    COMPLETED,
    FAILED,
    RequestState::Cancelled { in_progress_at: Some(CREATED_AT + 2), ended_at: CREATED_AT + 5_000 },
];

pub(crate) const COMPLETED: RequestState =
    RequestState::Completed { in_progress_at: CREATED_AT + 2, ended_at: CREATED_AT + 5_000 };

/// Without an answer.
pub(crate) const FAILED: RequestState =
    RequestState::Failed { in_progress_at: None, ended_at: CREATED_AT + 5_000 };

pub(crate) fn summary(state: RequestState) -> RequestSummary {
    let id = RequestId::derived(CREATED_AT, 7);
    RequestSummary { id, state, created_at: CREATED_AT, expires_at: CREATED_AT + COMPLETION_WINDOW_MS }
}

/// A request with only a `body`.
pub(crate) fn request(state: RequestState, endpoint: Endpoint, body: Json<'_>) -> RequestRecord {
    RequestRecord {
        summary: summary(state),
        batch_id: Some(BatchId::derived(CREATED_AT, 9)),
        endpoint,
        client: ClientFields::absent(),
        body: Bytes::from(body.as_str().to_owned()),
        result: None,
        warnings: None,
        attempts: Vec::new(),
    }
}

pub(crate) fn attempt(words: &str) -> FailedAttempt {
    FailedAttempt::new(CREATED_AT + 3_000, Some(500), words.to_owned())
}
