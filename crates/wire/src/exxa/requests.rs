//! Requests as this dialect's clients read them.

use overnight_domain::records::{RequestRecord, RequestSummary};

use super::results::ending;
use super::states;
use crate::json::{Raw, Value as _, members, object};
use crate::native::requests::{head, sent};

/// Appends the status record, which is also the answer to Create Request.
pub fn write_status(request: &RequestSummary, out: &mut Vec<u8>) {
    object! { ..status(request) }.append(out);
}

/// Appends the full record. It has a result after the request completed or failed.
pub fn write_full(request: &RequestRecord, out: &mut Vec<u8>) {
    match request.result {
        Some(_) => write_result(request, out),
        None => object! { ..full(request) }.append(out),
    }
}

/// Appends a line of Get Batch Results, which has a result in every state.
pub fn write_result(request: &RequestRecord, out: &mut Vec<u8>) {
    out.reserve(512 + request.heap_bytes());
    object! { ..full(request), ..ending(request) }.append(out);
}

fn status(request: &RequestSummary) -> impl Fn(&mut Vec<u8>) {
    head(request, states::name_of_request(request.state.status()))
}

fn full(request: &RequestRecord) -> impl Fn(&mut Vec<u8>) {
    members! {
        ..status(&request.summary),
        "batch_id": request.batch_id,
        "metadata": Raw(request.client.metadata.as_deref().unwrap_or(b"{}")),
        ..sent(request),
    }
}
