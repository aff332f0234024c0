//! Requests over HTTP.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use overnight_app::api_keys::Opened;
use overnight_app::requests;
use overnight_app::requests::waiting::WaitingReason;
use overnight_domain::ids::{CallId, RequestKind};
use overnight_domain::records;
use overnight_domain::requests::RequestStatus;
use overnight_wire::native::deletions::write_deleted;
use overnight_wire::native::requests::{
    Prospect, write_full, write_full_of_one, write_status, write_status_of_one,
};
use overnight_wire::native::waiting;

use crate::answers::{self, array_of_one};
use crate::bodies::JsonOrLines;
use crate::bulk::Bulk;
use crate::calls::Caller;
use crate::context::Shared;
use crate::errors::Answer;
use crate::extract::PathId;
use crate::idempotency::{self, CallName};
use crate::json_lines::{self, JSON_LINES};
use crate::queries::RequestsQuery;
#[cfg(test)]
use {
    super::lines::RequestLine,
    super::refusals::{Always, OfBody, OfCancel, OfDelete, OfPath, OfQuery},
    overnight_wire::native::bulk::BulkLine,
    overnight_wire::native::deletions::Deleted,
    overnight_wire::native::requests::{
        CreateRequest, FullRequest, RequestCreated, RequestFilter, RequestSummary,
    },
};

/// List requests
///
/// Your requests, one JSON object on each line, in order of arrival: how each stands, or with `full=true` each as a
/// whole. The list stays whole while requests are added. If the service cannot finish the list, its last line is an
/// error, and the connection is cut.
#[cfg_attr(test, utoipa::path(get, path = "/v1/requests", operation_id = "list_requests", tag = "Requests",
    params(("full" = Option<bool>, Query, description = "Whether each line is the whole request (`Request`), not \
        only how it stands. Takes `true`, `false`, `1` and `0`; without it, `false`."), RequestFilter),
    responses((status = 200, description = "One request on each line.", body = RequestLine,
        content_type = "application/x-ndjson"), Always, OfQuery)))]
pub(super) async fn list(State(context): State<Shared>, caller: Caller, query: RequestsQuery) -> Answer {
    let services = &context.services;
    if query.full {
        let pages = requests::list_records(services, caller.0, &query.list).await?;
        Ok(json_lines::answer(&context, caller.0, pages, JSON_LINES, write_full).await?)
    } else {
        let pages = requests::list_summaries(services, caller.0, &query.list).await?;
        Ok(json_lines::answer(&context, caller.0, pages, JSON_LINES, write_status).await?)
    }
}

fn write_created(request: &records::RequestSummary, out: &mut Vec<u8>) {
    array_of_one(out, |out| write_status(request, out));
}

/// Create a request
///
/// Takes a chat completion in, to be answered within 24 hours. Once this has answered, the request is durable: it ends
/// by its deadline, whatever happens to the service.
///
/// With the type `application/x-ndjson` the body has one Create Request on each line. Each is answered with a line, in the same order: the
/// request, or why there is none. `sha256` is the digest of the line that an answer is to. Accept an answer only for the line with that
/// digest, and send lines without an answer again: some proxies lose parts of a body.
///
/// The response begins after all lines are answered, or a second after the body has ended, if the body is at most 1 MiB long or a proxy
/// announces itself (`Via`, `Forwarded`, `X-Forwarded-For`, `X-Forwarded-Proto`). Otherwise lines are answered while the next ones come. The body as a whole has no limit; a line
/// has the limit of a body. Send at most 1 MiB in one call, or read the answers while you send: the answers of a call take at most the
/// account's memory for responses, 64 MiB by default.
///
/// If the connection breaks, the lines that were answered are taken in, and perhaps some after them. With an `Idempotency-Key`, sending
/// the same lines again takes in the rest, and answers the first ids for what was taken in. The number of a line is a part of its key:
/// leave lines where they are. A line waits if the account may create no more in this second.
#[cfg_attr(test, utoipa::path(post, path = "/v1/requests", operation_id = "create_request", tag = "Requests",
    params(("Idempotency-Key" = Option<String>, Header, nullable = false, min_length = 1, max_length = 255,
        pattern = "^[!-~]+$", description = "1 to 255 visible ASCII characters. Calls with the same \
        key do it once: a repeat within 48 hours gets the first answer, with the header `Idempotent-Replayed: true`. Another body \
        under the same key is refused (`idempotency_key_reused`). What was refused leaves the key free.")),
    request_body(content((CreateRequest = "application/json"), (CreateRequest = "application/x-ndjson"))),
    responses((status = 201, description = "The request, in an array of one.", body = [RequestCreated]),
        (status = 200, description = "Of many requests, one answer on each line.", body = BulkLine,
            content_type = "application/x-ndjson"),
        Always, OfBody)))]
pub(super) async fn create(
    State(context): State<Shared>,
    caller: Caller,
    name: CallName,
    Extension(call): Extension<CallId>,
    Extension(opened): Extension<Opened>,
    content: JsonOrLines,
) -> Answer {
    let body = match content {
        JsonOrLines::Json(body) => body,
        JsonOrLines::Lines(headers, body, buffers) => {
            return Bulk { context, opened, call, name }.answer(&headers, body, buffers).await;
        }
    };
    let call = name.repeatable(write_created);
    let answered =
        requests::create(&context.services, caller.0, requests::Sent::chat(body, Ok, call)).await?;
    Ok(idempotency::answer(StatusCode::CREATED, &answered, write_created))
}

/// Get a request and its result
///
/// The whole request. `result_body` is there once it has completed or failed, `warnings` if the engine did not honour a field
/// or its answer is odd.
#[cfg_attr(test, utoipa::path(get, path = "/v1/requests/{request_id}", operation_id = "get_request", tag = "Requests",
    params(("request_id" = String, Path, description = "The identifier of the request.")),
    responses((status = 200, description = "The request, in an array of one.", body = [FullRequest]),
        Always, OfPath)))]
pub(super) async fn get(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<RequestKind>,
) -> Answer {
    let request = requests::get_record(&context.services, caller.0, id).await?;
    let prospect = match request.summary.state.status() {
        RequestStatus::Registered | RequestStatus::InProgress => {
            shape_of(&requests::get_summary(&context.services, caller.0, id).await?.1)
        }
        _ => Prospect::default(),
    };
    Ok(answers::ok(|out| array_of_one(out, |out| write_full_of_one(&request, &prospect, out))))
}

/// Delete a request
///
/// Deletes a request that has ended, with its body, metadata and result; a webhook that was not delivered yet is not sent. What it
/// cost stays counted, and so does its place in the counts of its batch. Afterwards nothing is found under its identifier.
#[cfg_attr(test, utoipa::path(delete, path = "/v1/requests/{request_id}", operation_id = "delete_request", tag = "Requests",
    params(("request_id" = String, Path, description = "The identifier of the request.")),
    responses((status = 200, description = "It is gone.", body = Deleted), Always, OfPath, OfDelete)))]
pub(super) async fn delete(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<RequestKind>,
) -> Answer {
    requests::delete(&context.services, caller.0, id).await?;
    Ok(answers::ok(|out| write_deleted(id, out)))
}

/// Get the status of a request
#[cfg_attr(test, utoipa::path(get, path = "/v1/requests/{request_id}/status", operation_id = "get_request_status",
    tag = "Requests",
    params(("request_id" = String, Path, description = "The identifier of the request.")),
    responses((status = 200, description = "How the request stands.", body = RequestSummary), Always, OfPath)))]
pub(super) async fn get_status(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<RequestKind>,
) -> Answer {
    let (request, prospect) = requests::get_summary(&context.services, caller.0, id).await?;
    Ok(answers::ok(|out| write_status_of_one(&request, &shape_of(&prospect), out)))
}

/// Cancel a request
///
/// Work under way on it is stopped, and its answer, should one still come, is thrown away. Other requests of its batch
/// go on. Cancelling it again changes nothing and answers the same. A body is ignored.
#[cfg_attr(test, utoipa::path(post, path = "/v1/requests/{request_id}/cancel", operation_id = "cancel_request",
    tag = "Requests",
    params(("request_id" = String, Path, description = "The identifier of the request.")),
    responses((status = 200, description = "The cancelled request.", body = FullRequest),
        Always, OfPath, OfCancel)))]
pub(super) async fn cancel(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<RequestKind>,
) -> Answer {
    let request = requests::cancel(&context.services, caller.0, id).await?;
    Ok(answers::ok(|out| write_full(&request, out)))
}

fn shape_of(prospect: &requests::Prospect) -> Prospect {
    Prospect {
        waiting_for: prospect.waiting.as_ref().map(shape_of_reason),
        estimated_completion_at: prospect.completed_at.map(seconds_up),
    }
}

fn shape_of_reason(reason: &WaitingReason) -> waiting::WaitingFor {
    let (mut others, mut running_model) = (None, None);
    let code = match reason {
        WaitingReason::Gathering { .. } => waiting::WaitingReason::Gathering,
        WaitingReason::DiskReserved => waiting::WaitingReason::DiskSpace,
        WaitingReason::NoEngine => waiting::WaitingReason::NoEngine,
        WaitingReason::EnginesPaused { .. } => waiting::WaitingReason::EnginesPaused,
        WaitingReason::EnginesClosed { .. } => waiting::WaitingReason::EnginesClosed,
        WaitingReason::EnginesOverBudget { .. } => waiting::WaitingReason::EnginesOverBudget,
        WaitingReason::EnginesStopped { running, .. } => {
            running_model.clone_from(running);
            waiting::WaitingReason::EnginesStopped
        }
        WaitingReason::Retry { .. } => waiting::WaitingReason::Retry,
        WaitingReason::Queued { ahead } => {
            others = Some(*ahead);
            waiting::WaitingReason::Queue
        }
    };
    waiting::WaitingFor { reason: code, until: reason.until().map(seconds_up), others, running_model }
}

/// A time in milliseconds as whole seconds, rounded up.
pub(super) const fn seconds_up(ms: i64) -> i64 {
    ms.saturating_add(999).div_euclid(1_000)
}
