//! Messages: each is a request of the queue, and the call waits for its end.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use overnight_app::errors::AppError;
use overnight_app::{Services, messages, requests};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::CallId;
use overnight_domain::records::RequestRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_wire::anthropic::events::{PING, write_events};
use overnight_wire::anthropic::{Message, Origins, asks_for_stream, to_native};

use super::errors::{invalid, write_in_stream};
use crate::bodies::JsonBody;
use crate::calls::Caller;
use crate::context::Shared;
use crate::creation;
use crate::errors::{Answer, Refusal};
use crate::held_requests::completion_of;
use crate::idempotency::CallName;
use crate::waiting::MayWait;
use crate::waiting_streams::{self, Closing};

pub(super) async fn create(
    State(context): State<Shared>,
    caller: Caller,
    name: CallName,
    may_wait: MayWait,
    Extension(call): Extension<CallId>,
    JsonBody(body): JsonBody,
) -> Answer {
    let services = &context.services;
    let is_stream = requests::look(services, caller.0, &body, |params| Ok(asks_for_stream(params))).await?;
    let waiting = may_wait.begin()?;
    let created = match creation::create(
        services,
        caller.0,
        (Endpoint::ChatCompletions, body.clone()),
        to_native,
        &name,
    )
    .await
    {
        Ok(created) => created,
        Err(error) => return Err(in_client_words(services, caller.0, &body, error).await.into()),
    };
    drop(body);
    let mut response = if is_stream {
        let tell = move |refusal: &Refusal, out: &mut Vec<u8>| write_in_stream(refusal, call, out);
        let write_end = move |ended: &RequestRecord, out: &mut Vec<u8>| match completion_of(ended) {
            Ok(_) => write_events(&Message::of(ended), out),
            Err(refusal) => tell(&refusal, out),
        };
        let closing = Closing { write_end, write_refusal: tell };
        waiting_streams::answer(waiting, created.id, Bytes::from_static(PING), PING, closing)
    } else {
        let ended = waiting.ended(created.id).await?;
        completion_of(&ended.record)?;
        ended.answer(|ended, out| Message::of(ended).write(out)).await?
    };
    created.name_in(&mut response);
    Ok(response)
}

/// An error about the params, worded with the client's names for their parts.
async fn in_client_words(
    services: &Services,
    account: AccountKey,
    body: &Bytes,
    error: AppError,
) -> AppError {
    let AppError::Invalid(found) = error else { return error };
    let origins = requests::look(services, account, body, |params| Ok(Origins::of(params))).await;
    invalid(&messages::words(&origins.unwrap_or_default(), &found))
}
