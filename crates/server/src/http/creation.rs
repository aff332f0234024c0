//! Requests that calls create and then wait for, in whatever dialect.

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestSummary;
use overnight_domain::scheduler::AccountKey;

use crate::app::Services;
use crate::app::errors::AppError;
use crate::app::idempotency::Answered;
use crate::app::requests::{self, Reading};
use crate::http::idempotency::{self, CallName};

/// Names the request in the answer to the call that created it.
const REQUEST: HeaderName = HeaderName::from_static("x-overnight-request");

/// A request that a call created, or had created when it was sent before.
pub(super) struct Created {
    pub(super) id: RequestId,
    is_repeat: bool,
}

/// Creates a request from the body of a call, or finds the one that the same call created before.
///
/// # Errors
///
/// As [`requests::create`].
pub(super) async fn create(
    services: &Services,
    account: AccountKey,
    body: Bytes,
    reading: Reading,
    name: &CallName,
) -> Result<Created, AppError> {
    let call = name.repeatable(write_id);
    Ok(match requests::create(services, account, body, reading, call).await? {
        Answered::New(summary) => Created { id: summary.id, is_repeat: false },
        Answered::Repeat(id) => Created { id: read_id(&id), is_repeat: true },
    })
}

/// What is kept of a call with an idempotency key: what it created.
fn write_id(request: &RequestSummary, out: &mut Vec<u8>) {
    request.id.append_to(out);
}

/// What is kept is always an identifier; of anything else nothing is found.
fn read_id(kept: &[u8]) -> RequestId {
    let id = std::str::from_utf8(kept).ok().and_then(RequestId::parse);
    id.unwrap_or(RequestId::from_bits(0))
}

impl Created {
    /// Names the request in the answer, and says whether the call was a repeat.
    pub(super) fn name_in(&self, response: &mut Response) {
        if let Ok(id) = HeaderValue::try_from(self.id.to_string()) {
            response.headers_mut().insert(REQUEST, id);
        }
        if self.is_repeat {
            idempotency::mark_repeat(response);
        }
    }
}
