//! Requests and batches as all readers see them.

use bytes::Bytes;

use crate::answers::NO_USAGE;
use crate::batches::{BatchState, Counters};
use crate::endpoints::Endpoint;
use crate::ids::{BatchId, RequestId};
use crate::requests::RequestState;

/// A request without its bodies. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestSummary {
    /// Its identifier.
    pub id: RequestId,
    /// Its state and the times that go with it.
    pub state: RequestState,
    /// When it was accepted.
    pub created_at: i64,
    /// When its completion window ends.
    pub expires_at: i64,
}

impl RequestSummary {
    /// When it is deleted with this retention after its end, both in milliseconds; `None` while it lives. A cancelled request is kept as if
    /// its completion window had passed.
    pub const fn deleted_at(&self, retention_ms: i64) -> Option<i64> {
        let ended_at = match self.state {
            RequestState::Cancelled { .. } => Some(self.expires_at),
            ended => ended.ended_at(),
        };
        match ended_at {
            Some(ended_at) => Some(ended_at.saturating_add(retention_ms)),
            None => None,
        }
    }
}

/// What a client sends with a request in addition to its body, and reads back unchanged. It does not affect the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientFields {
    /// A JSON object; `None` if the client sent null.
    pub metadata: Option<Bytes>,
    /// The URL that is notified when the request ends.
    pub webhook: Option<String>,
}

impl ClientFields {
    /// The fields of a request that is sent without any.
    pub fn absent() -> Self {
        Self { metadata: Some(Bytes::from_static(b"{}")), ..Self::default() }
    }

    /// Bytes of the client's data.
    pub fn heap_bytes(&self) -> usize {
        let Self { metadata, webhook } = self;
        metadata.as_ref().map_or(0, Bytes::len) + webhook.as_ref().map_or(0, String::len)
    }
}

/// A whole request. Bodies are JSON without white space outside strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// The request without its bodies.
    pub summary: RequestSummary,
    /// The batch it belongs to, if any.
    pub batch_id: Option<BatchId>,
    /// The endpoint of the request.
    pub endpoint: Endpoint,
    /// The fields that the client sent with the body.
    pub client: ClientFields,
    /// The stored body for the engine, a JSON object.
    pub body: Bytes,
    /// The engine's answer or the error, a JSON object; `None` until it completed or failed.
    pub result: Option<Bytes>,
    /// Fields that the engine did not honour, as its completion shows, a JSON array; `None` if there are none.
    pub warnings: Option<Bytes>,
    /// The attempts that failed, oldest first. Only the record of a single request has them.
    pub attempts: Vec<FailedAttempt>,
}

impl RequestRecord {
    /// Approximate bytes of memory.
    pub fn heap_bytes(&self) -> usize {
        let long = [Some(&self.body), self.result.as_ref(), self.warnings.as_ref()];
        long.into_iter().flatten().map(Bytes::len).sum::<usize>() + self.client.heap_bytes()
    }
}

/// A counted failed attempt, as its owner may see it except the engine's name: it contains no address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAttempt {
    /// When it ended, in milliseconds.
    pub at: i64,
    /// The HTTP status of the engine's answer, if other than 2xx.
    pub status: Option<u16>,
    /// The engine's message if it refused, else what was wrong; at most [`FailedAttempt::MESSAGE_BYTES_MAX`].
    pub message: String,
    /// The engine's name, only for operators; `None` if not recorded.
    pub engine: Option<String>,
}

impl FailedAttempt {
    /// The longest message kept, in bytes.
    pub const MESSAGE_BYTES_MAX: usize = 1_024;

    /// The message of an attempt without an answer in time. It identifies stored attempts, so it must not change.
    pub const TIMED_OUT: &str = "the engine did not answer in time";

    /// An attempt that ended at `at`; keeps the beginning of a longer message.
    pub fn new(at: i64, status: Option<u16>, mut message: String) -> Self {
        message.truncate(message.floor_char_boundary(Self::MESSAGE_BYTES_MAX));
        Self { at, status, message, engine: None }
    }

    /// Whether the engine did not answer in time.
    pub fn is_timeout(&self) -> bool {
        self.status.is_none() && self.message == Self::TIMED_OUT
    }

    /// Whether its answer had no usable usage.
    pub fn lacks_usage(&self) -> bool {
        self.status.is_none() && self.message.starts_with(NO_USAGE)
    }
}

/// A batch without the list of its requests. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRecord {
    /// Its identifier.
    pub id: BatchId,
    /// Its state and the times that go with it.
    pub state: BatchState,
    /// How many of its requests are in each status.
    pub counters: Counters,
    /// When it was created.
    pub created_at: i64,
    /// The URL that is notified of its end.
    pub webhook: Option<String>,
    /// The client's metadata, a JSON object; `None` if the client sent null.
    pub metadata: Option<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_deleted_a_retention_after_its_end_or_its_completion_window() {
        let deleted_at = |state| {
            let id = RequestId::from_bits(1);
            RequestSummary { id, state, created_at: 0, expires_at: 100 }.deleted_at(7)
        };
        assert_eq!(deleted_at(RequestState::Completed { in_progress_at: 1, ended_at: 5 }), Some(12));
        assert_eq!(deleted_at(RequestState::Queued.cancel(5).expect("a state")), Some(107));
        assert_eq!(deleted_at(RequestState::Queued), None);
    }

    #[test]
    fn the_bytes_of_every_field_count() {
        let client = ClientFields { metadata: Some("{}".into()), webhook: Some("https".to_owned()) };
        assert_eq!((client.heap_bytes(), ClientFields::default().heap_bytes()), (7, 0));
    }

    #[test]
    fn a_request_without_client_fields_has_empty_metadata() {
        assert_eq!(ClientFields::absent(), ClientFields { metadata: Some("{}".into()), webhook: None });
    }

    #[test]
    fn a_request_holds_the_bytes_of_all_of_its_texts() {
        let record = RequestRecord {
            summary: RequestSummary {
                id: RequestId::from_bits(1),
                state: RequestState::Queued,
                created_at: 0,
                expires_at: 100,
            },
            batch_id: None,
            endpoint: Endpoint::Completions,
            client: ClientFields::absent(),
            body: "a body".into(),
            result: Some("a result".into()),
            warnings: Some("[]".into()),
            attempts: Vec::new(),
        };
        assert_eq!(record.heap_bytes(), 6 + 8 + 2 + 2);
        assert_eq!(RequestRecord { result: None, warnings: None, ..record }.heap_bytes(), 6 + 2);
    }

    #[test]
    fn an_attempt_is_a_timeout_by_its_message_where_no_answer_came() {
        let is_timeout =
            |status, message: &str| FailedAttempt::new(1, status, message.to_owned()).is_timeout();
        assert!(is_timeout(None, FailedAttempt::TIMED_OUT));
        assert!(!is_timeout(Some(504), FailedAttempt::TIMED_OUT), "these are the words of an engine");
        assert!(!is_timeout(None, "the connection broke"));
    }

    #[test]
    fn an_attempt_lacks_a_usage_by_the_beginning_of_its_message() {
        let lacks = |status, message: &str| FailedAttempt::new(1, status, message.to_owned()).lacks_usage();
        assert!(lacks(None, "the engine's answer has no usable usage: usage is missing"));
        assert!(!lacks(Some(500), "the engine's answer has no usable usage: usage is missing"));
        assert!(!lacks(None, FailedAttempt::TIMED_OUT));
    }
}
