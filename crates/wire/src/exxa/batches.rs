//! Batches as clients of this dialect read them.

use overnight_domain::batches::BatchStatus;
use overnight_domain::ids::RequestId;
use overnight_domain::records::BatchRecord;

use super::states;
use crate::json::{push_key, push_string_or_null};
use crate::native::batches::{open, push_requests_ids, push_times};

/// Appends what Create Batch answers: always `registered`, whatever state its requests give it.
pub fn write_created(batch: &BatchRecord, out: &mut Vec<u8>) {
    open(batch, states::name_of_batch(BatchStatus::Registered), out);
    out.push(b'}');
}

/// Appends the status record.
pub fn write_status(batch: &BatchRecord, out: &mut Vec<u8>) {
    open_status(batch, out);
    out.push(b'}');
}

/// Appends the full record, with `requests_ids` in the order sent.
pub fn write_full(batch: &BatchRecord, requests_ids: &[RequestId], out: &mut Vec<u8>) {
    open_status(batch, out);
    push_requests_ids(requests_ids, out);
    push_key("webhook", out);
    push_string_or_null(batch.webhook.as_deref(), out);
    push_key("metadata", out);
    out.extend_from_slice(batch.metadata.as_deref().unwrap_or(b"{}"));
    out.push(b'}');
}

fn open_status(batch: &BatchRecord, out: &mut Vec<u8>) {
    open(batch, states::name_of_batch(batch.state.status()), out);
    push_times(batch, out);
}
