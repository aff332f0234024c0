//! Responses: each is a request of the queue, and every request of the account is a response.

use axum::Extension;
use axum::extract::{RawQuery, State};
use overnight_app::errors::AppError;
use overnight_app::requests;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::{CallId, RequestId, ResponseKind};
use overnight_domain::records::RequestRecord;
use overnight_wire::openai::events::KEEP_ALIVE;
use overnight_wire::openai::responses::{
    Delivery, ItemsPage, to_native, write_deleted, write_ending, write_error, write_input_items,
    write_opening, write_response,
};

use super::streams::error_in_stream;
use crate::answers;
use crate::bodies::JsonBody;
use crate::calls::Caller;
use crate::context::Shared;
use crate::creation;
use crate::errors::{Answer, Refusal};
use crate::extract::PathId;
use crate::held_requests::{HeldRequest, completion_of};
use crate::idempotency::CallName;
use crate::queries::{read_flag, read_value};
use crate::waiting::{MayWait, Waiting};
use crate::waiting_streams::{self, Closing};

pub(super) async fn create(
    State(context): State<Shared>,
    caller: Caller,
    name: CallName,
    may_wait: MayWait,
    Extension(call): Extension<CallId>,
    JsonBody(body): JsonBody,
) -> Answer {
    let delivery = requests::look(&context.services, caller.0, &body, Delivery::read).await?;
    let waits = delivery.is_stream || !delivery.is_background;
    let waiting = if waits { Some(may_wait.begin()?) } else { None };
    let created =
        creation::create(&context.services, caller.0, (Endpoint::ChatCompletions, body), to_native, &name)
            .await;
    let created = created.map_err(in_terms_of_responses)?;
    let mut response = match waiting {
        Some(waiting) if delivery.is_stream => stream(waiting, created.id, None, call).await?,
        Some(waiting) => {
            let ended = waiting.ended(created.id).await?;
            completion_of(&ended.record)?;
            ended.answer(write_response).await?
        }
        None => {
            let held = HeldRequest::read(&context, caller.0, created.id).await;
            let held = held.map_err(|error| Refusal::once_accepted(error, created.id, name.is_some()))?;
            held.answer(write_response).await?
        }
    };
    created.name_in(&mut response);
    Ok(response)
}

/// As an object or as events.
pub(super) async fn get(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<ResponseKind>,
    may_wait: MayWait,
    Extension(call): Extension<CallId>,
    RawQuery(query): RawQuery,
) -> Answer {
    let (id, query) = (RequestId::from_bits(id.bits()), query.unwrap_or_default());
    if !read_value(&query, "stream", "true or false", read_flag)?.unwrap_or(false) {
        let held = HeldRequest::read(&context, caller.0, id).await.map_err(as_response)?;
        return Ok(held.answer(write_response).await?);
    }
    let read_number = |text: &str| text.parse::<i64>().ok();
    let after = read_value(&query, "starting_after", "the number of an event", read_number)?;
    stream(may_wait.begin()?, id, after, call).await
}

pub(super) async fn cancel(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<ResponseKind>,
) -> Answer {
    let id = RequestId::from_bits(id.bits());
    requests::cancel(&context.services, caller.0, id).await.map_err(as_response)?;
    let held = HeldRequest::read_patiently(&context, caller.0, id).await.map_err(as_response)?;
    Ok(held.answer(write_response).await?)
}

pub(super) async fn delete(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<ResponseKind>,
) -> Answer {
    let id = RequestId::from_bits(id.bits());
    requests::delete(&context.services, caller.0, id).await.map_err(as_response)?;
    Ok(answers::ok(|out| write_deleted(id, out)))
}

pub(super) async fn list_input_items(
    State(context): State<Shared>,
    caller: Caller,
    PathId(id): PathId<ResponseKind>,
    RawQuery(query): RawQuery,
) -> Answer {
    let (id, query) = (RequestId::from_bits(id.bits()), query.unwrap_or_default());
    let read_order = |text: &str| match text {
        "asc" => Some(false),
        "desc" => Some(true),
        _ => None,
    };
    let read_limit =
        |text: &str| text.parse().ok().filter(|limit| (1..=ItemsPage::LIMIT_MAX).contains(limit));
    let page = ItemsPage {
        is_newest_first: read_value(&query, "order", "asc or desc", read_order)?.unwrap_or(true),
        limit: read_value(&query, "limit", "an integer from 1 to 100", read_limit)?
            .unwrap_or(ItemsPage::LIMIT),
        after: read_value(&query, "after", "the id of an item", |text| Some(text.to_owned()))?,
    };
    let held = HeldRequest::read(&context, caller.0, id).await.map_err(as_response)?;
    Ok(held.answer(move |request, out| write_input_items(request, &page, out)).await?)
}

/// The events of a response after number `after`: the available ones, and the others once it has ended.
async fn stream(waiting: Waiting, id: RequestId, after: Option<i64>, call: CallId) -> Answer {
    let request = waiting.current(id).await.map_err(|refusal| match refusal {
        Refusal::App(error) => Refusal::App(as_response(error)),
        other => other,
    })?;
    let opening = request.into_bytes(move |request, out| write_opening(request, after, out)).await?;
    let closing = Closing {
        write_end: move |ended: &RequestRecord, out: &mut Vec<u8>| write_ending(ended, after, out),
        write_refusal: move |refusal: &Refusal, out: &mut Vec<u8>| {
            write_error(&error_in_stream(refusal, call), out);
        },
    };
    Ok(waiting_streams::answer(waiting, id, opening, KEEP_ALIVE.as_bytes(), closing))
}

/// Words an error about a request as one about a response.
fn as_response(error: AppError) -> AppError {
    match error {
        AppError::NotFound(_) => AppError::NotFound("response"),
        AppError::AlreadyEnded { status, .. } => AppError::AlreadyEnded { what: "response", status },
        AppError::NotEnded(_) => AppError::NotEnded("response"),
        other => other,
    }
}

/// Members of a chat completion, and the fields from which they were made.
const MEMBERS: [(&str, &str); 3] = [
    ("request_body.max_tokens", "max_output_tokens"),
    ("request_body.response_format", "text.format"),
    ("request_body.reasoning_effort", "reasoning.effort"),
];

/// Messages are made from several items, so a fault in one is a fault of the input.
const MESSAGES: &str = "request_body.messages";

/// Assigns faults of the chat completion to the fields from which it was made.
fn in_terms_of_responses(mut error: AppError) -> AppError {
    if let AppError::Invalid(invalid) = &mut error {
        for fault in &mut invalid.details {
            if fault.param.starts_with(MESSAGES) {
                fault.message = fault.message.replacen(&fault.param, "input", 1);
                "input".clone_into(&mut fault.param);
            }
            let renamed = MEMBERS.iter().find(|(from, _)| fault.param.starts_with(from));
            if let Some((from, to)) = renamed {
                fault.param = fault.param.replacen(from, to, 1);
                fault.message = fault.message.replacen(from, to, 1);
            }
        }
    }
    error
}
