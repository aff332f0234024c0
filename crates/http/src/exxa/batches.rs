use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use overnight_app::batches::{self, ListedBatch, WholeBatch};
use overnight_app::requests;
use overnight_domain::ids::BatchKind;
use overnight_wire::exxa::batches::{write_created, write_full, write_status};
use overnight_wire::exxa::requests as request_shapes;
use overnight_wire::exxa::states;

use super::LINES;
use crate::answers;
use crate::bodies::JsonBody;
use crate::calls::Caller;
use crate::context::Shared;
use crate::errors::Answer;
use crate::extract::{CancelTarget, PathId};
use crate::idempotency::{self, CallName};
use crate::json_lines;
use crate::queries::read_batch_query;

fn write_whole(batch: &WholeBatch, out: &mut Vec<u8>) {
    write_full(&batch.record, Some(&batch.requests_ids), out);
}

fn write_listed(batch: &ListedBatch, out: &mut Vec<u8>) {
    write_full(&batch.record, batch.requests_ids.as_deref(), out);
}

pub(super) async fn list(State(context): State<Shared>, caller: Caller, RawQuery(query): RawQuery) -> Answer {
    let query = read_batch_query(query.as_deref().unwrap_or_default(), states::name_of_batch)?;
    let pages = batches::list(&context.services, caller.0, query).await?;
    Ok(json_lines::answer(&context, caller.0, pages, LINES, write_listed).await?)
}

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

pub(super) async fn get(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<BatchKind>,
) -> Answer {
    let batch = batches::get_whole(&context.services, caller.0, id).await?;
    Ok(answers::ok(|out| write_whole(&batch, out)))
}

pub(super) async fn get_status(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<BatchKind>,
) -> Answer {
    let batch = batches::get_record(&context.services, caller.0, id).await?;
    Ok(answers::ok(|out| write_status(&batch, out)))
}

pub(super) async fn get_requests(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<BatchKind>,
) -> Answer {
    let pages = batches::list_requests(&context.services, caller.0, id).await?;
    Ok(json_lines::answer(&context, caller.0, pages, LINES, request_shapes::write_status).await?)
}

/// Every line has a result, whatever the request's outcome.
pub(super) async fn get_results(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<BatchKind>,
) -> Answer {
    let pages = batches::list_results(&context.services, caller.0, id).await?;
    Ok(json_lines::answer(&context, caller.0, pages, LINES, request_shapes::write_result).await?)
}

/// Cancels the batch or request that the path names.
pub(super) async fn cancel(State(context): State<Shared>, caller: Caller, target: CancelTarget) -> Answer {
    match target {
        CancelTarget::Batch(id) => {
            let batch = batches::cancel(&context.services, caller.0, id).await?;
            Ok(answers::ok(|out| write_whole(&batch, out)))
        }
        CancelTarget::Request(id) => {
            let request = requests::cancel(&context.services, caller.0, id).await?;
            Ok(answers::ok(|out| request_shapes::write_full(&request, out)))
        }
    }
}
