//! Requests that calls create and wait for, in any dialect.

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use overnight_app::Services;
use overnight_app::errors::AppError;
use overnight_app::idempotency::{Answered, read_id};
use overnight_app::requests::{self, Reading, Sent};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::RequestId;
use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::scheduler::AccountKey;

use crate::errors::Answer;
use crate::held_requests::{HeldRequest, completion_of};
use crate::idempotency::{self, CallName};

/// Names the request in the answer to the call that created it.
const REQUEST: HeaderName = HeaderName::from_static("x-overnight-request");

/// A request that this call created, or an earlier call that it repeats.
pub(super) struct Created {
    pub(super) id: RequestId,
    is_repeat: bool,
}

/// Creates a request from the body of a call, or finds that of the repeated call. Fails like [`requests::create`].
pub(super) async fn create(
    services: &Services,
    account: AccountKey,
    (endpoint, body): (Endpoint, Bytes),
    reading: Reading,
    name: &CallName,
) -> Result<Created, AppError> {
    let sent = Sent { endpoint, body, reading, call: name.repeatable(write_id) };
    Ok(match requests::create(services, account, sent).await? {
        Answered::New(summary) => Created { id: summary.id, is_repeat: false },
        Answered::Repeat(id) => Created { id: read_id(&id)?, is_repeat: true },
    })
}

/// The stored answer of a call with an idempotency key: the request's identifier.
fn write_id(request: &RequestSummary, out: &mut Vec<u8>) {
    request.id.append_to(out);
}

/// 200 with the engine's answer, unchanged.
pub(super) async fn answer_as_written(ended: HeldRequest) -> Answer {
    completion_of(&ended.record)?;
    let write = |ended: &RequestRecord, out: &mut Vec<u8>| {
        if let Ok(answer) = completion_of(ended) {
            out.extend_from_slice(answer);
        }
    };
    Ok(ended.answer(write).await?)
}

impl Created {
    /// Names the request in the answer, and marks repeats.
    pub(super) fn name_in(&self, response: &mut Response) {
        if let Ok(id) = HeaderValue::try_from(self.id.to_string()) {
            response.headers_mut().insert(REQUEST, id);
        }
        if self.is_repeat {
            idempotency::mark_repeat(response);
        }
    }
}
