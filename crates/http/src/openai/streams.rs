//! The ends of streams.

use axum::body::Bytes;
use axum::response::Response;
use overnight_domain::ids::{CallId, RequestId};
use overnight_domain::records::RequestRecord;
use overnight_wire::openai::chat::write_error;
use overnight_wire::openai::errors::ErrorObject;
use overnight_wire::openai::events::KEEP_ALIVE;

use super::errors::error_object;
use crate::errors::{self, Refusal};
use crate::held_requests::completion_of;
use crate::waiting::Waiting;
use crate::waiting_streams::{self, Closing};

/// Streams the completion of a request, once it is there, as `write` formats it.
pub(super) fn stream_completion(
    waiting: Waiting,
    id: RequestId,
    call: CallId,
    write: impl FnOnce(&[u8], &mut Vec<u8>) + Send + 'static,
) -> Response {
    let tell = move |refusal: &Refusal, out: &mut Vec<u8>| {
        write_error(&error_in_stream(refusal, call), out);
    };
    let write_end = move |ended: &RequestRecord, out: &mut Vec<u8>| match completion_of(ended) {
        Ok(completion) => write(completion, out),
        Err(refusal) => tell(&refusal, out),
    };
    let closing = Closing { write_end, write_refusal: tell };
    waiting_streams::answer(waiting, id, Bytes::new(), KEEP_ALIVE.as_bytes(), closing)
}

/// An error in a stream that has begun, as an event. Logs internal faults.
pub(super) fn error_in_stream(refusal: &Refusal, call: CallId) -> ErrorObject {
    if let Refusal::App(error) = refusal {
        errors::log(error, format_args!("call {call}"));
    }
    error_object(refusal, call)
}
