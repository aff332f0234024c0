//! Batches: what a client sends to create one, and what it reads of one.

use overnight_domain::batches::Counters;
use overnight_domain::ids::RequestId;
use overnight_domain::records::BatchRecord;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::requests::Order;
use super::states;
use crate::json::{
    push, push_id, push_integer, push_json_or_null, push_key, push_string_or_null, push_time,
    push_time_if_set,
};

/// The state of a batch.
pub use overnight_domain::batches::BatchStatus;

/// Requests to be followed, and if need be cancelled, together.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "requests_ids": ["req_01jz8m3v6qf8jbk2w5n7y9t0xd", "req_01jz8m3v6rf1t8c0a4m2d6h3pz"],
    "webhook": "https://example.com/hooks/overnight",
    "metadata": {"batch_name": "nightly summaries"}
})))]
pub struct CreateBatch {
    /// The requests to group, each your own and in no batch yet, in any state and without repetition.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::requests_ids))]
    pub requests_ids: Vec<String>,
    /// Where to tell of the end of this batch: an `https` URL. Absent or null: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = "uri", max_length = 2048))]
    pub webhook: Option<String>,
    /// Anything you want to read back with the batch: a JSON object of at most 16 KiB, or null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::metadata_input))]
    pub metadata: Option<Box<RawValue>>,
}

/// How many requests of a batch are in each state. The five states always add up to `total`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RequestsCounts {
    /// All requests of the batch.
    pub total: i64,
    /// Ended with a result.
    pub completed: i64,
    /// Ended with an error.
    pub failed: i64,
    /// With an engine.
    pub in_progress: i64,
    /// Waiting for their turn.
    pub registered: i64,
    /// Cancelled, singly or with the batch.
    pub cancelled: i64,
}

/// What Create Batch answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "id": "batch_01jz8m4c2he7vsn9q3r5x1b8ka",
    "status": "registered",
    "requests_counts": {
        "total": 2, "completed": 0, "failed": 0, "in_progress": 0, "registered": 2, "cancelled": 0
    },
    "created_at": 1751500010
})))]
pub struct BatchCreated {
    /// The identifier of the batch: opaque, sorts by creation time.
    pub id: String,
    /// Always `registered`; a batch of requests that have started or ended shows its true state at the next read.
    #[serde(with = "states::batch")]
    #[cfg_attr(feature = "openapi", schema(value_type = super::schemas::BatchState))]
    pub status: BatchStatus,
    /// How its requests stand.
    pub requests_counts: RequestsCounts,
    /// When it was created, in Unix seconds.
    pub created_at: i64,
}

/// How a batch stands, without the list of its requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BatchStatus, example = json!({
    "id": "batch_01jz8m4c2he7vsn9q3r5x1b8ka",
    "status": "in progress",
    "requests_counts": {
        "total": 2, "completed": 1, "failed": 0, "in_progress": 1, "registered": 0, "cancelled": 0
    },
    "created_at": 1751500010,
    "in_progress_at": 1751500012,
    "cancelled_at": null
})))]
pub struct BatchSummary {
    /// The identifier of the batch.
    pub id: String,
    /// Its state.
    #[serde(with = "states::batch")]
    #[cfg_attr(feature = "openapi", schema(value_type = super::schemas::BatchState))]
    pub status: BatchStatus,
    /// How its requests stand.
    pub requests_counts: RequestsCounts,
    /// When it was created, in Unix seconds.
    pub created_at: i64,
    /// When its first request started or ended, in Unix seconds. Absent before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub in_progress_at: Option<i64>,
    /// When its last request ended, in Unix seconds. Absent before, and in a cancelled batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub completed_at: Option<i64>,
    /// When it was cancelled, in Unix seconds, or null.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub cancelled_at: Option<i64>,
    /// When its last request will probably have been completed, in Unix seconds, by all that is known of the queue and the engines now. Only Get Batch Status and Get Batch say it;
    /// absent where nobody can tell, as while no engine of its models is in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub estimated_completion_at: Option<i64>,
}

/// A batch with the list of its requests.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Batch, example = json!({
    "id": "batch_01jz8m4c2he7vsn9q3r5x1b8ka",
    "status": "completed",
    "requests_counts": {
        "total": 2, "completed": 2, "failed": 0, "in_progress": 0, "registered": 0, "cancelled": 0
    },
    "created_at": 1751500010,
    "in_progress_at": 1751500012,
    "completed_at": 1751500020,
    "cancelled_at": null,
    "requests_ids": ["req_01jz8m3v6qf8jbk2w5n7y9t0xd", "req_01jz8m3v6rf1t8c0a4m2d6h3pz"],
    "webhook": "https://example.com/hooks/overnight",
    "metadata": {"batch_name": "nightly summaries"}
})))]
pub struct FullBatch {
    /// The identifier of the batch.
    pub id: String,
    /// Its state.
    #[serde(with = "states::batch")]
    #[cfg_attr(feature = "openapi", schema(value_type = super::schemas::BatchState))]
    pub status: BatchStatus,
    /// How its requests stand.
    pub requests_counts: RequestsCounts,
    /// When it was created, in Unix seconds.
    pub created_at: i64,
    /// When its first request started or ended, in Unix seconds. Absent before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub in_progress_at: Option<i64>,
    /// When its last request ended, in Unix seconds. Absent before, and in a cancelled batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub completed_at: Option<i64>,
    /// When it was cancelled, in Unix seconds, or null.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub cancelled_at: Option<i64>,
    /// When its last request will probably have been completed, in Unix seconds, by all that is known of the queue and the engines now. Only Get Batch Status and Get Batch say it;
    /// absent where nobody can tell, as while no engine of its models is in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub estimated_completion_at: Option<i64>,
    /// Its requests, in the order sent.
    pub requests_ids: Vec<String>,
    /// Where its end is told, or null.
    #[cfg_attr(feature = "openapi", schema(format = "uri", required = true))]
    pub webhook: Option<String>,
    /// The metadata it was created with: `{}` where none was sent, null where null was sent.
    #[cfg_attr(feature = "openapi", schema(required = true, schema_with = super::schemas::metadata))]
    pub metadata: Option<Box<RawValue>>,
}

/// Which batches List Batches lists, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct BatchFilter {
    /// Only batches in this state.
    #[cfg_attr(feature = "openapi", param(value_type = Option<super::schemas::BatchState>))]
    pub status: Option<BatchStatus>,
    /// Only batches created after this time, in Unix seconds.
    pub created_after: Option<i64>,
    /// Only batches created before this time, in Unix seconds.
    pub created_before: Option<i64>,
    /// At most this many batches. Without it, all of them.
    #[cfg_attr(feature = "openapi", param(minimum = 1))]
    pub limit: Option<u64>,
    /// Only batches behind this one, in the order asked for: the identifier of the last one read.
    pub after: Option<String>,
    /// `asc`: in order of arrival, oldest first (the default). `desc`: newest first.
    #[cfg_attr(feature = "openapi", param(inline))]
    pub order: Option<Order>,
}

/// What of a batch's results is listed, and in which order: that in which requests ended where either is set, that of arrival otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct ResultsFilter {
    /// `true`: only requests that have ended, each as it ends, until the batch has ended.
    pub follow: Option<bool>,
    /// Only requests that ended behind this one: the identifier of the last one read.
    pub after: Option<String>,
}

/// Appends what Create Batch answers: always `registered`, whatever state its requests give it.
pub fn write_created(batch: &BatchRecord, out: &mut Vec<u8>) {
    open(batch, BatchStatus::Registered.as_str(), out);
    out.push(b'}');
}

/// Appends the status record.
pub fn write_status(batch: &BatchRecord, out: &mut Vec<u8>) {
    write_status_of_one(batch, None, out);
}

/// Appends the status record of a batch that was asked for by itself, whose last request will probably have been completed at a time
/// in Unix seconds.
pub fn write_status_of_one(batch: &BatchRecord, estimated_completion_at: Option<i64>, out: &mut Vec<u8>) {
    open_status(batch, estimated_completion_at, out);
    out.push(b'}');
}

/// Appends the full record, with `requests_ids` in the order sent.
pub fn write_full(batch: &BatchRecord, requests_ids: &[RequestId], out: &mut Vec<u8>) {
    write_full_of_one(batch, requests_ids, None, out);
}

/// Appends the full record of a batch that was asked for by itself, see [`write_status_of_one`].
pub fn write_full_of_one(
    batch: &BatchRecord,
    requests_ids: &[RequestId],
    estimated_completion_at: Option<i64>,
    out: &mut Vec<u8>,
) {
    out.reserve(512);
    open_status(batch, estimated_completion_at, out);
    push_requests_ids(requests_ids, out);
    push_key("webhook", out);
    push_string_or_null(batch.webhook.as_deref(), out);
    push_key("metadata", out);
    push_json_or_null(batch.metadata.as_deref(), out);
    out.push(b'}');
}

/// The keys that the status and the full record begin with.
fn open_status(batch: &BatchRecord, estimated_completion_at: Option<i64>, out: &mut Vec<u8>) {
    open(batch, batch.state.status().as_str(), out);
    push_times(batch, out);
    if let Some(at) = estimated_completion_at {
        push_key("estimated_completion_at", out);
        push_integer(at, out);
    }
}

/// The times of the status record.
pub(crate) fn push_times(batch: &BatchRecord, out: &mut Vec<u8>) {
    push_time_if_set("in_progress_at", batch.state.in_progress_at(), out);
    push_time_if_set("completed_at", batch.state.completed_at(), out);
    push_key("cancelled_at", out);
    match batch.state.cancelled_at() {
        Some(cancelled_at) => push_time(cancelled_at, out),
        None => push("null", out),
    }
}

/// The requests of a batch, in the order sent.
pub(crate) fn push_requests_ids(requests_ids: &[RequestId], out: &mut Vec<u8>) {
    out.reserve(33 * requests_ids.len());
    push_key("requests_ids", out);
    out.push(b'[');
    for (place, &id) in requests_ids.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        push_id(id, out);
    }
    out.push(b']');
}

/// The keys that all records begin with, with the name of the state in the dialect.
pub(crate) fn open(batch: &BatchRecord, state: &str, out: &mut Vec<u8>) {
    push("{\"id\":", out);
    push_id(batch.id, out);
    push(",\"status\":\"", out);
    push(state, out);
    push("\",\"requests_counts\":{", out);
    push_counts(&batch.counters, out);
    push("},\"created_at\":", out);
    push_time(batch.created_at, out);
}

fn push_counts(counters: &Counters, out: &mut Vec<u8>) {
    push("\"total\":", out);
    push_integer(counters.total(), out);
    for (key, count) in [
        ("completed", counters.completed),
        ("failed", counters.failed),
        ("in_progress", counters.in_progress),
        ("registered", counters.registered),
        ("cancelled", counters.cancelled),
    ] {
        push_key(key, out);
        push_integer(count, out);
    }
}
