//! Batches as Anthropic's clients read them. Requests count as `processing` until the whole batch has ended.

use overnight_domain::batches::BatchState;
use overnight_domain::ids::MessageBatchId;
use overnight_domain::records::BatchRecord;

use super::times::{push_rfc3339, push_rfc3339_or_null};
use crate::json::{push, push_id, push_integer, push_key, push_string};

/// How long a batch may take, in milliseconds.
const WINDOW_MS: i64 = 86_400_000;

/// A batch and what is not in its record.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// What is known of it.
    pub record: &'a BatchRecord,
    /// How many of its requests failed because their completion window passed.
    pub expired: i64,
    /// The address under which this dialect is reached: `https://host/anthropic`.
    pub base_url: &'a str,
}

impl Batch<'_> {
    /// Its name here.
    pub fn id(&self) -> MessageBatchId {
        self.record.id.renamed()
    }
}

/// Whether every request of a batch has ended.
pub fn has_ended(batch: &BatchRecord) -> bool {
    batch.counters.live() == 0
}

/// Appends a batch.
pub fn write_batch(batch: &Batch<'_>, out: &mut Vec<u8>) {
    let Batch { record, base_url, .. } = *batch;
    let ended = has_ended(record);
    let ended_at = record.state.completed_at().or(record.state.cancelled_at()).filter(|_| ended);
    push("{\"id\":", out);
    push_id(batch.id(), out);
    push(",\"type\":\"message_batch\",\"processing_status\":\"", out);
    push(processing_status(record), out);
    push("\",\"request_counts\":{", out);
    push_counts(batch, ended, out);
    push("},\"created_at\":", out);
    push_rfc3339(record.created_at, out);
    push_key("expires_at", out);
    push_rfc3339(record.created_at + WINDOW_MS, out);
    push_key("ended_at", out);
    push_rfc3339_or_null(ended_at, out);
    push_key("cancel_initiated_at", out);
    push_rfc3339_or_null(record.state.cancelled_at(), out);
    push(",\"archived_at\":null,\"results_url\":", out);
    if ended {
        push_string(&format!("{base_url}/v1/messages/batches/{}/results", batch.id()), out);
    } else {
        push("null", out);
    }
    out.push(b'}');
}

fn processing_status(batch: &BatchRecord) -> &'static str {
    match batch.state {
        _ if has_ended(batch) => "ended",
        BatchState::Cancelled { .. } => "canceling",
        _ => "in_progress",
    }
}

fn push_counts(batch: &Batch<'_>, ended: bool, out: &mut Vec<u8>) {
    let counters = &batch.record.counters;
    let expired = batch.expired.min(counters.failed);
    push("\"processing\":", out);
    push_integer(if ended { 0 } else { counters.total() }, out);
    for (key, count) in [
        ("succeeded", counters.completed),
        ("errored", counters.failed - expired),
        ("canceled", counters.cancelled),
        ("expired", expired),
    ] {
        push_key(key, out);
        push_integer(if ended { count } else { 0 }, out);
    }
}

/// Appends the answer to the deletion of a batch.
pub fn write_deleted(id: MessageBatchId, out: &mut Vec<u8>) {
    push("{\"id\":", out);
    push_id(id, out);
    push(",\"type\":\"message_batch_deleted\"}", out);
}
