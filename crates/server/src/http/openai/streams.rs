//! Answers that are streams of events.

use axum::response::Response;
use overnight_domain::ids::{CallId, RequestId};
use overnight_wire::openai::events::KEEP_ALIVE;

use super::errors::error_object;
use crate::app::errors::AppError;
use crate::http::errors::{self, Refusal};
use crate::http::waiting::{EndedRequest, Waiting};
use crate::http::waiting_streams;

/// 200 with `opening` at once, comments while the request has not ended, and then what `close` says of its end.
pub(super) fn answer(
    waiting: Waiting,
    id: RequestId,
    opening: Vec<u8>,
    close: impl FnOnce(Result<&EndedRequest, Refusal>) -> Vec<u8> + Send + 'static,
) -> Response {
    waiting_streams::answer(waiting, id, opening, KEEP_ALIVE.as_bytes(), close)
}

/// Appends a refusal as the event that these clients raise.
pub(super) fn write_error(refusal: &Refusal, call: CallId, out: &mut Vec<u8>) {
    if let Refusal::App(error @ (AppError::Internal(_) | AppError::StoreAway { .. })) = refusal {
        errors::log(error, format_args!("call {call}"));
    }
    out.extend_from_slice(b"data: ");
    error_object(refusal, call).write_envelope(out);
    out.extend_from_slice(b"\n\n");
}
