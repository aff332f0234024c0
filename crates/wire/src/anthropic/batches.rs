//! Batches as Anthropic's clients read them. Requests count as `processing` until the whole batch has ended.

use overnight_domain::batches::BatchState;
use overnight_domain::ids::MessageBatchId;
use overnight_domain::records::BatchRecord;

use super::times::rfc3339;
use crate::json::{NULL, Value as _, object};

const WINDOW_MS: i64 = 86_400_000;

/// A batch with the facts that its record lacks.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// Its stored record.
    pub record: &'a BatchRecord,
    /// The number of its requests that failed because their completion window passed.
    pub expired: i64,
    /// The base URL of this dialect: `https://host/anthropic`.
    pub base_url: &'a str,
}

impl Batch<'_> {
    /// Its identifier in this dialect.
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
    let (ended, counters) = (has_ended(record), &record.counters);
    let ended_at = record.state.completed_at().or(record.state.cancelled_at()).filter(|_| ended);
    let expired = batch.expired.min(counters.failed);
    let once_ended = move |count: i64| if ended { count } else { 0 };
    object! {
        "id": batch.id(),
        "type": "message_batch",
        "processing_status": processing_status(record),
        "request_counts": object! {
            "processing": if ended { 0 } else { counters.total() },
            "succeeded": once_ended(counters.completed),
            "errored": once_ended(counters.failed - expired),
            "canceled": once_ended(counters.cancelled),
            "expired": once_ended(expired),
        },
        "created_at": rfc3339(record.created_at),
        "expires_at": rfc3339(record.created_at + WINDOW_MS),
        "ended_at": ended_at.map(rfc3339),
        "cancel_initiated_at": record.state.cancelled_at().map(rfc3339),
        "archived_at": NULL,
        "results_url": ended.then(|| format!("{base_url}/v1/messages/batches/{}/results", batch.id())),
    }
    .append(out);
}

fn processing_status(batch: &BatchRecord) -> &'static str {
    match batch.state {
        _ if has_ended(batch) => "ended",
        BatchState::Cancelled { .. } => "canceling",
        _ => "in_progress",
    }
}

/// Appends the answer to the deletion of a batch.
pub fn write_deleted(id: MessageBatchId, out: &mut Vec<u8>) {
    object! { "id": id, "type": "message_batch_deleted" }.append(out);
}
