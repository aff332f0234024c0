//! Batches: the body that creates one, and its records.

use overnight_domain::ids::RequestId;
use overnight_domain::records::BatchRecord;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::requests::Order;
use super::states;
use crate::json::{IfSet, Raw, Second, Value as _, members, object};

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
    /// Its requests, in the order sent. Absent from a list that was asked for with `requests_ids=false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub requests_ids: Option<Vec<String>>,
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
    /// `false`: each batch without `requests_ids`, which may be long.
    pub requests_ids: Option<bool>,
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

/// Appends the answer to Create Batch. Its state is always `registered`.
pub fn write_created(batch: &BatchRecord, out: &mut Vec<u8>) {
    object! { ..head(batch, BatchStatus::Registered.as_str()) }.append(out);
}

/// Appends the status record.
pub fn write_status(batch: &BatchRecord, out: &mut Vec<u8>) {
    write_status_of_one(batch, None, out);
}

/// Appends the status record of a single batch with its estimated completion time, in Unix seconds.
pub fn write_status_of_one(batch: &BatchRecord, estimated_completion_at: Option<i64>, out: &mut Vec<u8>) {
    object! { ..status(batch, estimated_completion_at) }.append(out);
}

/// Appends the full record, with `requests_ids`, if any, in the order in which the client sent them.
pub fn write_full(batch: &BatchRecord, requests_ids: Option<&[RequestId]>, out: &mut Vec<u8>) {
    write_full_of_one(batch, requests_ids, None, out);
}

/// Appends the full record of a single batch; see [`write_status_of_one`].
pub fn write_full_of_one(
    batch: &BatchRecord,
    requests_ids: Option<&[RequestId]>,
    estimated_completion_at: Option<i64>,
    out: &mut Vec<u8>,
) {
    out.reserve(512 + 33 * requests_ids.map_or(0, <[_]>::len));
    object! {
        ..status(batch, estimated_completion_at),
        "requests_ids": IfSet(requests_ids),
        "webhook": batch.webhook.as_deref(),
        "metadata": batch.metadata.as_deref().map(Raw),
    }
    .append(out);
}

/// Members that the status and the full record share.
fn status(batch: &BatchRecord, estimated_completion_at: Option<i64>) -> impl Fn(&mut Vec<u8>) {
    members! {
        ..head(batch, batch.state.status().as_str()),
        ..times(batch),
        "estimated_completion_at": IfSet(estimated_completion_at),
    }
}

pub(crate) fn times(batch: &BatchRecord) -> impl Fn(&mut Vec<u8>) {
    members! {
        "in_progress_at": IfSet(batch.state.in_progress_at().map(Second)),
        "completed_at": IfSet(batch.state.completed_at().map(Second)),
        "cancelled_at": batch.state.cancelled_at().map(Second),
    }
}

/// The first members of every record. `state` is the state's name in the dialect.
pub(crate) fn head(batch: &BatchRecord, state: &str) -> impl Fn(&mut Vec<u8>) {
    let counters = &batch.counters;
    members! {
        "id": batch.id,
        "status": state,
        "requests_counts": object! {
            "total": counters.total(),
            "completed": counters.completed,
            "failed": counters.failed,
            "in_progress": counters.in_progress,
            "registered": counters.registered,
            "cancelled": counters.cancelled,
        },
        "created_at": Second(batch.created_at),
    }
}
