//! Requests over HTTP.

use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use overnight_domain::ids::RequestKind;
use overnight_wire::exxa::chat::to_native;
use overnight_wire::exxa::requests::{write_full, write_status};
use overnight_wire::exxa::states;

use super::LINES;
use crate::app::requests;
use crate::http::answers;
use crate::http::bodies::JsonBody;
use crate::http::calls::Caller;
use crate::http::context::Shared;
use crate::http::errors::{Answer, Refusal};
use crate::http::extract::PathId;
use crate::http::idempotency::{self, CallName};
use crate::http::json_lines;
use crate::http::queries::RequestsQuery;

/// What List Requests is asked for, in the spelling of this dialect.
pub(super) struct Query(RequestsQuery);

impl FromRequestParts<Shared> for Query {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Refusal> {
        let query = parts.uri.query().unwrap_or_default();
        RequestsQuery::read(query, states::name_of_request).map(Self)
    }
}

/// List Requests.
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

/// Create Request: answers the bare object.
pub(super) async fn create(
    State(context): State<Shared>,
    caller: Caller,
    call: CallName,
    JsonBody(body): JsonBody,
) -> Answer {
    let call = call.repeatable(write_status);
    let answered = requests::create(&context.services, caller.0, body, to_native, call).await?;
    Ok(idempotency::answer(StatusCode::CREATED, &answered, write_status))
}

/// Get Request Result: answers the bare object.
pub(super) async fn get(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<RequestKind>,
) -> Answer {
    let request = requests::get_record(&context.services, caller.0, id).await?;
    Ok(answers::ok(|out| write_full(&request, out)))
}

/// Get Request Status.
pub(super) async fn get_status(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<RequestKind>,
) -> Answer {
    let (request, _) = requests::get_summary(&context.services, caller.0, id).await?;
    Ok(answers::ok(|out| write_status(&request, out)))
}

/// Cancel Request.
pub(super) async fn cancel(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<RequestKind>,
) -> Answer {
    let request = requests::cancel(&context.services, caller.0, id).await?;
    Ok(answers::ok(|out| write_full(&request, out)))
}
