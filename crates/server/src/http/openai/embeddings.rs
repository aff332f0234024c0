//! Embeddings: all vectors of a call are one request of the queue, whose end the call waits for.

use axum::extract::State;
use overnight_domain::endpoints::Endpoint;
use overnight_wire::openai::embeddings::to_native;

use crate::http::bodies::JsonBody;
use crate::http::calls::Caller;
use crate::http::context::Shared;
use crate::http::creation;
use crate::http::errors::Answer;
use crate::http::idempotency::CallName;
use crate::http::waiting::MayWait;

/// Create embeddings.
pub(super) async fn create(
    State(context): State<Shared>,
    caller: Caller,
    name: CallName,
    may_wait: MayWait,
    JsonBody(body): JsonBody,
) -> Answer {
    let waiting = may_wait.begin()?;
    let sent = (Endpoint::Embeddings, body);
    let created = creation::create_for(&context.services, caller.0, sent, to_native, &name).await?;
    let mut response = creation::answer_as_written(waiting.ended(created.id).await?).await?;
    created.name_in(&mut response);
    Ok(response)
}
