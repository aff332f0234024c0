//! Completions of prompts without a conversation: each is a request of the queue, and the call waits for its end.

use axum::Extension;
use axum::extract::State;
use overnight_app::requests;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::CallId;
use overnight_wire::openai::chat::{Delivery, to_native};
use overnight_wire::openai::completions::write_chunks;

use super::streams::stream_completion;
use crate::bodies::JsonBody;
use crate::calls::Caller;
use crate::context::Shared;
use crate::creation;
use crate::errors::Answer;
use crate::idempotency::CallName;
use crate::waiting::MayWait;

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
    let created = creation::create(&context.services, caller.0, sent, to_native, &name).await?;
    let mut response = if delivery.is_stream {
        let write = move |completion: &[u8], out: &mut Vec<u8>| {
            write_chunks(completion, delivery.includes_usage, out);
        };
        stream_completion(waiting, created.id, call, write)
    } else {
        creation::answer_as_written(waiting.ended(created.id).await?).await?
    };
    created.name_in(&mut response);
    Ok(response)
}
