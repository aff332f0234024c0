//! Requests as clients of this dialect read them.

use overnight_domain::records::{RequestRecord, RequestSummary};

use super::results::push_result;
use super::states;
use crate::json::{push, push_key, push_string_or_null};
use crate::native::requests::{open, push_batch_id};

/// Appends the status record. For a request just created it is what Create Request answers.
pub fn write_status(request: &RequestSummary, out: &mut Vec<u8>) {
    open(request, states::name_of_request(request.state.status()), out);
    out.push(b'}');
}

/// Appends the full record; its result is there once the request has completed or failed.
pub fn write_full(request: &RequestRecord, out: &mut Vec<u8>) {
    open_full(request, out);
    if request.result.is_some() {
        push_result(request, out);
    }
    out.push(b'}');
}

/// Appends the line of Get Batch Results, which has a result whatever became of the request.
pub fn write_result(request: &RequestRecord, out: &mut Vec<u8>) {
    open_full(request, out);
    push_result(request, out);
    out.push(b'}');
}

fn open_full(request: &RequestRecord, out: &mut Vec<u8>) {
    let result_bytes = request.result.as_ref().map_or(0, |result| result.len());
    out.reserve(512 + request.body.len() + result_bytes);
    let summary = &request.summary;
    open(summary, states::name_of_request(summary.state.status()), out);
    push_batch_id(request.batch_id, out);
    push_key("metadata", out);
    out.extend_from_slice(request.client.metadata.as_deref().unwrap_or(b"{}"));
    push_key("request_body", out);
    out.extend_from_slice(&request.body);
    push(",\"completion_window\":\"24h\",\"webhook\":", out);
    push_string_or_null(request.client.webhook.as_deref(), out);
}
