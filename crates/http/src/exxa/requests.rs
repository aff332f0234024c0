use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use overnight_app::requests;
use overnight_domain::ids::RequestKind;
use overnight_wire::exxa::chat::to_native;
use overnight_wire::exxa::requests::{write_full, write_status};
use overnight_wire::exxa::states;

use super::LINES;
use crate::answers;
use crate::bodies::JsonBody;
use crate::calls::Caller;
use crate::context::Shared;
use crate::errors::{Answer, Refusal};
use crate::extract::PathId;
use crate::idempotency::{self, CallName};
use crate::json_lines;
use crate::queries::RequestsQuery;

/// The query of List Requests, in the spelling of this dialect.
pub(super) struct Query(RequestsQuery);

impl FromRequestParts<Shared> for Query {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Refusal> {
        let query = parts.uri.query().unwrap_or_default();
        RequestsQuery::read(query, states::name_of_request).map(Self)
    }
}

pub(super) async fn list(State(context): State<Shared>, caller: Caller, Query(query): Query) -> Answer {
    let services = &context.services;
    if query.full {
        let pages = requests::list_records(services, caller.0, &query.list).await?;
        Ok(json_lines::answer(&context, caller.0, pages, LINES, write_full).await?)
    } else {
        let pages = requests::list_summaries(services, caller.0, &query.list).await?;
        Ok(json_lines::answer(&context, caller.0, pages, LINES, write_status).await?)
    }
}

/// Answers the bare object.
pub(super) async fn create(
    State(context): State<Shared>,
    caller: Caller,
    call: CallName,
    JsonBody(body): JsonBody,
) -> Answer {
    let call = call.repeatable(write_status);
    let answered =
        requests::create(&context.services, caller.0, requests::Sent::chat(body, to_native, call)).await?;
    Ok(idempotency::answer(StatusCode::CREATED, &answered, write_status))
}

/// Answers the bare object.
pub(super) async fn get(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<RequestKind>,
) -> Answer {
    let request = requests::get_record(&context.services, caller.0, id).await?;
    Ok(answers::ok(|out| write_full(&request, out)))
}

pub(super) async fn get_status(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<RequestKind>,
) -> Answer {
    let (request, _) = requests::get_summary(&context.services, caller.0, id).await?;
    Ok(answers::ok(|out| write_status(&request, out)))
}

pub(super) async fn cancel(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<RequestKind>,
) -> Answer {
    let request = requests::cancel(&context.services, caller.0, id).await?;
    Ok(answers::ok(|out| write_full(&request, out)))
}
