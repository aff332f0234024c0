//! Requests: the body that creates one, and its records.

use overnight_domain::records::{self, RequestRecord};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::states;
use super::waiting::WaitingFor;
use super::warnings::Warning;
use crate::json::{IfSet, Raw, Second, Told, Value as _, members, object};

/// The status of a request.
pub use overnight_domain::requests::RequestStatus;

/// The time that a request may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompletionWindow {
    /// 24 hours from the answer to Create Request.
    #[default]
    #[serde(rename = "24h")]
    Hours24,
}

/// The members of [`CreateRequest`] with the JSON text of their defaults; `None` if required. [`FullRequest`] has them all.
pub const CREATE_MEMBERS: [(&str, Option<&str>); 4] = [
    ("metadata", Some("{}")),
    ("request_body", None),
    ("completion_window", Some("\"24h\"")),
    ("webhook", Some("null")),
];

/// A chat completion to be answered within its completion window.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "request_body": {
        "model": "llama-3.1-8b-instruct",
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": "What is the capital of France?"}
        ]
    },
    "metadata": {"row": 17},
    "completion_window": "24h",
    "webhook": "https://example.com/hooks/overnight"
})))]
pub struct CreateRequest {
    /// What the model is asked.
    #[cfg_attr(feature = "openapi", schema(value_type = super::chat::ChatCompletionRequest))]
    pub request_body: Box<RawValue>,
    /// Anything you want to read back with the request: a JSON object of at most 16 KiB, or null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::metadata_input))]
    pub metadata: Option<Box<RawValue>>,
    /// The time the request may take.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::completion_window))]
    pub completion_window: CompletionWindow,
    /// Where to tell of the end of this request: an `https` URL. Absent or null: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = "uri", max_length = 2048))]
    pub webhook: Option<String>,
}

impl CreateRequest {
    /// Asks for the completion of `request_body`, without metadata or webhook. Fails if `request_body` cannot be written as JSON.
    pub fn new(request_body: &impl Serialize) -> serde_json::Result<Self> {
        Ok(Self {
            request_body: serde_json::value::to_raw_value(request_body)?,
            metadata: None,
            completion_window: CompletionWindow::Hours24,
            webhook: None,
        })
    }
}

/// What Create Request answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "id": "req_01jz8m3v6qf8jbk2w5n7y9t0xd",
    "status": "registered",
    "created_at": 1751500000,
    "expires_at": 1751586400
})))]
pub struct RequestCreated {
    /// The identifier of the request: opaque, sorts by creation time.
    pub id: String,
    /// Always `registered`.
    #[serde(with = "states::request")]
    #[cfg_attr(feature = "openapi", schema(value_type = super::schemas::RequestState))]
    pub status: RequestStatus,
    /// When it was accepted, in Unix seconds.
    pub created_at: i64,
    /// When its completion window ends, in Unix seconds: 86,400 after `created_at`.
    pub expires_at: i64,
}

/// How a request stands, without its bodies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RequestStatus, example = json!({
    "id": "req_01jz8m3v6qf8jbk2w5n7y9t0xd",
    "status": "completed",
    "created_at": 1751500000,
    "expires_at": 1751586400,
    "in_progress_at": 1751500003,
    "ended_at": 1751500005
})))]
pub struct RequestSummary {
    /// The identifier of the request.
    pub id: String,
    /// Its state.
    #[serde(with = "states::request")]
    #[cfg_attr(feature = "openapi", schema(value_type = super::schemas::RequestState))]
    pub status: RequestStatus,
    /// When it was accepted, in Unix seconds.
    pub created_at: i64,
    /// When its completion window ends, in Unix seconds.
    pub expires_at: i64,
    /// When it was first given to an engine, in Unix seconds. Absent before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub in_progress_at: Option<i64>,
    /// When it completed, failed or was cancelled, in Unix seconds. Absent before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub ended_at: Option<i64>,
    /// Why a registered request is not in progress yet, or why one in progress that came back from an engine is sent to none. Only Get Request Status and Get Request say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub waiting_for: Option<WaitingFor>,
    /// When it will probably have been completed, in Unix seconds, by all that is known of the queue and the engines now. Only Get Request Status and Get Request say it;
    /// absent where nobody can tell, as while no engine of its model is in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub estimated_completion_at: Option<i64>,
}

/// A request with its body and, once it has ended, its result.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Request, example = json!({
    "id": "req_01jz8m3v6qf8jbk2w5n7y9t0xd",
    "status": "completed",
    "created_at": 1751500000,
    "expires_at": 1751586400,
    "in_progress_at": 1751500003,
    "ended_at": 1751500005,
    "batch_id": null,
    "metadata": {"row": 17},
    "request_body": {
        "model": "llama-3.1-8b-instruct",
        "messages": [{"role": "user", "content": "What is the capital of France?"}]
    },
    "completion_window": "24h",
    "webhook": null,
    "result_body": {
        "id": "chatcmpl-8f2c",
        "object": "chat.completion",
        "created": 1751500005,
        "model": "llama-3.1-8b-instruct",
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": "Paris."},
            "finish_reason": "stop"
        }],
        "usage": {"prompt_tokens": 14, "completion_tokens": 3, "total_tokens": 17}
    }
})))]
pub struct FullRequest {
    /// The identifier of the request.
    pub id: String,
    /// Its state.
    #[serde(with = "states::request")]
    #[cfg_attr(feature = "openapi", schema(value_type = super::schemas::RequestState))]
    pub status: RequestStatus,
    /// When it was accepted, in Unix seconds.
    pub created_at: i64,
    /// When its completion window ends, in Unix seconds.
    pub expires_at: i64,
    /// When it was first given to an engine, in Unix seconds. Absent before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub in_progress_at: Option<i64>,
    /// When it completed, failed or was cancelled, in Unix seconds. Absent before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub ended_at: Option<i64>,
    /// The batch it belongs to, or null.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub batch_id: Option<String>,
    /// The metadata it was created with: `{}` where none was sent, null where null was sent.
    #[cfg_attr(feature = "openapi", schema(required = true, schema_with = super::schemas::metadata))]
    pub metadata: Option<Box<RawValue>>,
    /// What the model was asked, as it was sent.
    #[cfg_attr(feature = "openapi", schema(value_type = super::results::RequestBody))]
    pub request_body: Box<RawValue>,
    /// The time the request may take.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::completion_window))]
    pub completion_window: CompletionWindow,
    /// Where its end is told, or null.
    #[cfg_attr(feature = "openapi", schema(format = "uri", required = true))]
    pub webhook: Option<String>,
    /// The engine's answer to a completed request, the error of a failed one. Absent in every other state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = super::results::ResultBody, nullable = false))]
    pub result_body: Option<Box<RawValue>>,
    /// The fields of `request_body` that the engine did not honour, as the completion shows, and the odd parts of `result_body`, such as a
    /// missing usage. Each path appears once. Absent without warnings. Fields that leave no trace in a completion cause no warning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// The attempts to complete it that failed, oldest first: five at most. Only Get Request says them; absent where none
    /// failed. What a fault of the engines interrupted is no attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<FailedAttempt>,
    /// Why a registered request is not in progress yet, or why one in progress that came back from an engine is sent to none. Only Get Request Status and Get Request say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub waiting_for: Option<WaitingFor>,
    /// When it will probably have been completed, in Unix seconds, by all that is known of the queue and the engines now. Only Get Request Status and Get Request say it;
    /// absent where nobody can tell, as while no engine of its model is in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub estimated_completion_at: Option<i64>,
}

/// An attempt to complete a request that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailedAttempt {
    /// When it ended, in Unix seconds.
    pub ended_at: i64,
    /// The HTTP status that the engine answered with; null where it did not answer, or not with an error.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub status: Option<u16>,
    /// The engine's words where it answered with an error, else what was wrong: at most 1 KiB.
    pub message: String,
}

/// Which requests List Requests lists, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct RequestFilter {
    /// Only requests in this state.
    #[cfg_attr(feature = "openapi", param(value_type = Option<super::schemas::RequestState>))]
    pub status: Option<RequestStatus>,
    /// Only requests to this model.
    pub model: Option<String>,
    /// Only requests created after this time, in Unix seconds.
    pub created_after: Option<i64>,
    /// Only requests created before this time, in Unix seconds.
    pub created_before: Option<i64>,
    /// At most this many requests. Without it, all of them.
    #[cfg_attr(feature = "openapi", param(minimum = 1))]
    pub limit: Option<u64>,
    /// Only requests behind this one, in the order asked for: the identifier of the last one read.
    pub after: Option<String>,
    /// `asc`: in order of arrival, oldest first (the default). `desc`: newest first.
    #[cfg_attr(feature = "openapi", param(inline))]
    pub order: Option<Order>,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Order {
    /// In order of arrival, oldest first.
    Asc,
    /// Newest first.
    Desc,
}

impl Order {
    /// Its name in a query.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asc => "asc",
            Self::Desc => "desc",
        }
    }
}

/// Facts that only the record of a single request has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prospect {
    /// The reason why it is not in progress yet.
    pub waiting_for: Option<WaitingFor>,
    /// Its estimated completion time, in Unix seconds.
    pub estimated_completion_at: Option<i64>,
}

/// Appends the status record, which is also the answer to Create Request.
pub fn write_status(request: &records::RequestSummary, out: &mut Vec<u8>) {
    write_status_of_one(request, &Prospect::default(), out);
}

/// Appends the status record of a single request.
pub fn write_status_of_one(request: &records::RequestSummary, prospect: &Prospect, out: &mut Vec<u8>) {
    object! { ..head(request, request.state.status().as_str()), ..outlook(prospect) }.append(out);
}

/// Appends the full record.
pub fn write_full(request: &RequestRecord, out: &mut Vec<u8>) {
    write_full_of_one(request, &Prospect::default(), out);
}

/// Appends the full record of a single request.
pub fn write_full_of_one(request: &RequestRecord, prospect: &Prospect, out: &mut Vec<u8>) {
    out.reserve(512 + request.heap_bytes());
    let attempt = |attempt: &records::FailedAttempt| FailedAttempt {
        ended_at: attempt.at.div_euclid(1_000),
        status: attempt.status,
        message: attempt.message.clone(),
    };
    let attempts: Vec<_> = request.attempts.iter().map(attempt).collect();
    object! {
        ..head(&request.summary, request.summary.state.status().as_str()),
        "batch_id": request.batch_id,
        "metadata": request.client.metadata.as_deref().map(Raw),
        ..sent(request),
        "result_body": IfSet(request.result.as_deref().map(Raw)),
        "warnings": IfSet(request.warnings.as_deref().map(Raw)),
        "attempts": IfSet((!attempts.is_empty()).then_some(Told(&attempts))),
        ..outlook(prospect),
    }
    .append(out);
}

fn outlook(prospect: &Prospect) -> impl Fn(&mut Vec<u8>) {
    members! {
        "waiting_for": IfSet(prospect.waiting_for.as_ref().map(Told)),
        "estimated_completion_at": IfSet(prospect.estimated_completion_at),
    }
}

/// Appends the body of a Create Request that repeats this one: the members of [`CREATE_MEMBERS`] in order.
pub fn write_create(request: &RequestRecord, out: &mut Vec<u8>) {
    object! { "metadata": request.client.metadata.as_deref().map(Raw), ..sent(request) }.append(out);
}

/// The members that the client sent, except the metadata.
pub(crate) fn sent(request: &RequestRecord) -> impl Fn(&mut Vec<u8>) {
    members! {
        "request_body": Raw(&request.body),
        "completion_window": "24h",
        "webhook": request.client.webhook.as_deref(),
    }
}

/// The first members of every record. `state` is the state's name in the dialect.
pub(crate) fn head(request: &records::RequestSummary, state: &str) -> impl Fn(&mut Vec<u8>) {
    members! {
        "id": request.id,
        "status": state,
        "created_at": Second(request.created_at),
        "expires_at": Second(request.expires_at),
        "in_progress_at": IfSet(request.state.in_progress_at().map(Second)),
        "ended_at": IfSet(request.state.ended_at().map(Second)),
    }
}
