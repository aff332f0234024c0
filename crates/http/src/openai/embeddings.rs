//! Embeddings: all vectors of a call are one request of the queue, and the call waits for its end.

use axum::extract::State;
use overnight_domain::endpoints::Endpoint;
use overnight_wire::openai::embeddings::to_native;

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
    JsonBody(body): JsonBody,
) -> Answer {
    let waiting = may_wait.begin()?;
    let sent = (Endpoint::Embeddings, body);
    let created = creation::create(&context.services, caller.0, sent, to_native, &name).await?;
    let mut response = creation::answer_as_written(waiting.ended(created.id).await?).await?;
    created.name_in(&mut response);
    Ok(response)
}
