//! Completions of prompts without a conversation: each is a request of the queue, whose end the call waits for.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::CallId;
use overnight_domain::records::RequestRecord;
use overnight_wire::openai::chat::{Delivery, to_native, write_error};
use overnight_wire::openai::completions::write_chunks;
use overnight_wire::openai::events::KEEP_ALIVE;

use super::streams::error_in_stream;
use crate::app::requests;
use crate::http::bodies::JsonBody;
use crate::http::calls::Caller;
use crate::http::context::Shared;
use crate::http::creation;
use crate::http::errors::{Answer, Refusal};
use crate::http::held_requests::completion_of;
use crate::http::idempotency::CallName;
use crate::http::waiting::MayWait;
use crate::http::waiting_streams::{self, Closing};

/// Create a completion.
pub(super) async fn create(
    State(context): State<Shared>,
    caller: Caller,
    name: CallName,
    may_wait: MayWait,
    Extension(call): Extension<CallId>,
    JsonBody(body): JsonBody,
) -> Answer {
    let delivery = requests::look(&context.services, caller.0, &body, Delivery::read).await?;
    let waiting = may_wait.begin()?;
    let sent = (Endpoint::Completions, body);
    let created = creation::create_for(&context.services, caller.0, sent, to_native, &name).await?;
    let mut response = if delivery.is_stream {
        let tell = move |refusal: &Refusal, out: &mut Vec<u8>| {
            write_error(&error_in_stream(refusal, call), out);
        };
        let write_end = move |ended: &RequestRecord, out: &mut Vec<u8>| match completion_of(ended) {
            Ok(completion) => write_chunks(completion, delivery.includes_usage, out),
            Err(refusal) => tell(&refusal, out),
        };
        let closing = Closing { write_end, write_refusal: tell };
        waiting_streams::answer(waiting, created.id, Bytes::new(), KEEP_ALIVE.as_bytes(), closing)
    } else {
        creation::answer_as_written(waiting.ended(created.id).await?).await?
    };
    created.name_in(&mut response);
    Ok(response)
}
