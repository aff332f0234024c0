//! Answers that are streams of events.

use axum::body::Bytes;
use axum::response::Response;
use overnight_domain::ids::{CallId, RequestId};
use overnight_wire::openai::errors::ErrorObject;
use overnight_wire::openai::events::KEEP_ALIVE;

use super::errors::error_object;
use crate::http::errors::{self, Refusal};
use crate::http::held_requests::HeldRequest;
use crate::http::waiting::Waiting;
use crate::http::waiting_streams;

/// 200 with `opening` at once, comments while the request has not ended, and then what `close` says of its end.
pub(super) fn answer(
    waiting: Waiting,
    id: RequestId,
    opening: Bytes,
    close: impl FnOnce(Result<&HeldRequest, Refusal>) -> Vec<u8> + Send + 'static,
) -> Response {
    waiting_streams::answer(waiting, id, opening, KEEP_ALIVE.as_bytes(), close)
}

/// A refusal that comes when the stream has begun: it is an event, and what is a fault of ours is logged.
pub(super) fn error_in_stream(refusal: &Refusal, call: CallId) -> ErrorObject {
    if let Refusal::App(error) = refusal {
        errors::log(error, format_args!("call {call}"));
    }
    error_object(refusal, call)
}
