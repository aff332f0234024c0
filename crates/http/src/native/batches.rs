//! Batches over HTTP.

use axum::extract::{Extension, RawQuery, State};
use axum::http::StatusCode;
use overnight_app::api_keys::Opened;
use overnight_app::batches::{self, ListedBatch};
use overnight_app::errors::AppError;
use overnight_app::{forecasts, requests};
use overnight_domain::batches::BatchStatus;
use overnight_domain::ids::BatchKind;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_wire::native::batches::{write_created, write_full, write_full_of_one, write_status_of_one};
use overnight_wire::native::deletions::write_deleted;
use overnight_wire::native::requests as request_shapes;

use super::requests::seconds_up;
use crate::answers;
use crate::bodies::JsonBody;
use crate::calls::Caller;
use crate::context::Shared;
use crate::errors::Answer;
use crate::extract::{CancelTarget, PathId, QueriedId};
use crate::following::{self, ResultsWanted};
use crate::idempotency::{self, CallName};
use crate::json_lines::{self, JSON_LINES};
use crate::queries::read_batch_query;
#[cfg(test)]
use {
    super::refusals::{Always, OfBody, OfCancel, OfDelete, OfPath, OfQuery},
    overnight_wire::native::batches::{
        BatchCreated, BatchFilter, BatchSummary, CreateBatch, FullBatch, ResultsFilter,
    },
    overnight_wire::native::deletions::Deleted,
    overnight_wire::native::requests::{FullRequest, RequestSummary},
};

fn write_listed(batch: &ListedBatch, out: &mut Vec<u8>) {
    write_full(&batch.record, batch.requests_ids.as_deref(), out);
}

/// List batches
///
/// Your batches, one whole JSON object on each line, oldest first. While a batch of more than 1,024 requests is being created, later ones are not
/// listed in this order. Query parameters that are no filter are ignored.
#[cfg_attr(test, utoipa::path(get, path = "/v1/batches", operation_id = "list_batches", tag = "Batches",
    params(BatchFilter),
    responses((status = 200, description = "One batch on each line.", body = FullBatch,
        content_type = "application/x-ndjson"), Always, OfQuery)))]
pub(super) async fn list(State(context): State<Shared>, caller: Caller, RawQuery(query): RawQuery) -> Answer {
    let query = read_batch_query(query.as_deref().unwrap_or_default(), BatchStatus::as_str)?;
    let pages = batches::list(&context.services, caller.0, query).await?;
    Ok(json_lines::answer(&context, caller.0, pages, JSON_LINES, write_listed).await?)
}

/// Create a batch
///
/// Groups requests that exist: all of them, or none. Each is one of yours, in any state, and in no batch yet. Where
/// some cannot be grouped, `details` says which and why (`unknown`, `duplicate`, `in_another_batch`), and
/// `details_total` how many.
#[cfg_attr(test, utoipa::path(post, path = "/v1/batches", operation_id = "create_batch", tag = "Batches",
    params(("Idempotency-Key" = Option<String>, Header, nullable = false, min_length = 1, max_length = 255,
        pattern = "^[!-~]+$", description = "1 to 255 visible ASCII characters. Calls with the same \
        key do it once: a repeat within 48 hours gets the first answer, with the header `Idempotent-Replayed: true`. Another body \
        under the same key is refused (`idempotency_key_reused`). What was refused leaves the key free.")),
    request_body(content = CreateBatch, content_type = "application/json"),
    responses((status = 201, description = "The batch.", body = BatchCreated), Always, OfBody)))]
pub(super) async fn create(
    State(context): State<Shared>,
    caller: Caller,
    call: CallName,
    JsonBody(body): JsonBody,
) -> Answer {
    let call = call.repeatable(write_created);
    let answered = batches::create(&context.services, caller.0, body, call).await?;
    Ok(idempotency::answer(StatusCode::CREATED, &answered, write_created))
}

/// Get a batch
///
/// The whole batch, with its requests in the order they were sent.
#[cfg_attr(test, utoipa::path(get, path = "/v1/batches/{batch_id}", operation_id = "get_batch", tag = "Batches",
    params(("batch_id" = String, Path, description = "The identifier of the batch.")),
    responses((status = 200, description = "The batch.", body = FullBatch), Always, OfPath)))]
pub(super) async fn get(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<BatchKind>,
) -> Answer {
    let batch = batches::get_whole(&context.services, caller.0, id).await?;
    let estimate = estimated_completion_at(&context, caller.0, &batch.record).await?;
    Ok(answers::ok(|out| write_full_of_one(&batch.record, Some(&batch.requests_ids), estimate, out)))
}

/// Delete a batch
///
/// Deletes a batch that has ended, with all of its requests, their bodies, metadata and results; webhooks that were not delivered yet are
/// not sent. What the requests cost stays counted. Afterwards nothing is found under the identifier of the batch or of its requests.
#[cfg_attr(test, utoipa::path(delete, path = "/v1/batches/{batch_id}", operation_id = "delete_batch", tag = "Batches",
    params(("batch_id" = String, Path, description = "The identifier of the batch.")),
    responses((status = 200, description = "It is gone.", body = Deleted), Always, OfPath, OfDelete)))]
pub(super) async fn delete(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<BatchKind>,
) -> Answer {
    batches::delete(&context.services, caller.0, id).await?;
    Ok(answers::ok(|out| write_deleted(id, out)))
}

/// Get the status of a batch
#[cfg_attr(test, utoipa::path(get, path = "/v1/batches/{batch_id}/status", operation_id = "get_batch_status",
    tag = "Batches",
    params(("batch_id" = String, Path, description = "The identifier of the batch.")),
    responses((status = 200, description = "How the batch stands.", body = BatchSummary), Always, OfPath)))]
pub(super) async fn get_status(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<BatchKind>,
) -> Answer {
    let batch = batches::get_record(&context.services, caller.0, id).await?;
    let estimate = estimated_completion_at(&context, caller.0, &batch).await?;
    Ok(answers::ok(|out| write_status_of_one(&batch, estimate, out)))
}

async fn estimated_completion_at(
    context: &Shared,
    account: AccountKey,
    batch: &BatchRecord,
) -> Result<Option<i64>, AppError> {
    let at = forecasts::of_batch(&context.services, account, batch).await?;
    Ok(at.map(seconds_up))
}

/// Get the requests of a batch
///
/// How every request of the batch stands, one JSON object on each line, in order of arrival.
#[cfg_attr(test, utoipa::path(get, path = "/v1/batches/{batch_id}/requests", operation_id = "get_batch_requests",
    tag = "Batches",
    params(("batch_id" = String, Path, description = "The identifier of the batch.")),
    responses((status = 200, description = "One request on each line.", body = RequestSummary,
        content_type = "application/x-ndjson"), Always, OfPath)))]
pub(super) async fn get_requests(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<BatchKind>,
) -> Answer {
    let pages = batches::list_requests(&context.services, caller.0, id).await?;
    Ok(json_lines::answer(&context, caller.0, pages, JSON_LINES, request_shapes::write_status).await?)
}

/// Get the results of a batch
///
/// Every request of the batch as a whole, ended or not, one JSON object on each line, in order of arrival. Those that
/// have ended carry `result_body`.
///
/// With `follow` or `after` the list runs in the order in which requests ended, and holds no others. With `follow=true` it goes on
/// until the batch has ended: each line is sent when its request has ended. A list that is cut before that is taken up with
/// `after=<id of the last line>`: every request that has ended is in it once, but for those that were deleted. With
/// `Accept: text/event-stream` the same comes as server-sent events, each with the request's id as its `id`, so a browser's
/// EventSource resumes by itself with `Last-Event-ID`; 204 tells it that the batch has ended and nothing is left. Where both that header
/// and `after` are sent, the header counts.
#[cfg_attr(test, utoipa::path(get, path = "/v1/batches/{batch_id}/results", operation_id = "get_batch_results",
    tag = "Batches",
    params(("batch_id" = String, Path, description = "The identifier of the batch."), ResultsFilter,
        ("Last-Event-ID" = Option<String>, Header, nullable = false, description = "As `after`, where events are asked for. It counts where both are \
            sent.")),
    responses((status = 200, description = "One request on each line; or one as the `data` of each event.",
            content((FullRequest = "application/x-ndjson"), (FullRequest = "text/event-stream"))),
        (status = 204, description = "Events were asked for, the batch has ended, and none is left."), Always, OfPath)))]
pub(super) async fn get_results(
    State(context): State<Shared>,
    caller: Caller,
    Extension(opened): Extension<Opened>,
    QueriedId(id): QueriedId<BatchKind>,
    ResultsWanted(wanted): ResultsWanted,
) -> Answer {
    if let Some((wanted, call)) = wanted {
        return following::answer(&context, opened, &call, id, wanted).await;
    }
    let pages = batches::list_results(&context.services, caller.0, id).await?;
    Ok(json_lines::answer(&context, caller.0, pages, JSON_LINES, request_shapes::write_full).await?)
}

/// Cancel a batch
///
/// Cancels every request of the batch that has not ended; those that have keep their results. Cancelling it again
/// changes nothing and answers the same. A body is ignored.
///
/// The identifier of a request is taken here too: then that request alone is cancelled, and its record is the answer.
#[cfg_attr(test, utoipa::path(post, path = "/v1/batches/{batch_id}/cancel", operation_id = "cancel_batch", tag = "Batches",
    params(("batch_id" = String, Path, description = "The identifier of the batch, or of a request.")),
    responses((status = 200, description = "The cancelled batch.", body = FullBatch),
        Always, OfPath, OfCancel)))]
pub(super) async fn cancel(State(context): State<Shared>, caller: Caller, target: CancelTarget) -> Answer {
    match target {
        CancelTarget::Batch(id) => {
            let batch = batches::cancel(&context.services, caller.0, id).await?;
            Ok(answers::ok(|out| write_full(&batch.record, Some(&batch.requests_ids), out)))
        }
        CancelTarget::Request(id) => {
            let request = requests::cancel(&context.services, caller.0, id).await?;
            Ok(answers::ok(|out| request_shapes::write_full(&request, out)))
        }
    }
}
