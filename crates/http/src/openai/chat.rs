//! Chat completions: each is a request of the queue, and the call waits for its end.

use axum::Extension;
use axum::extract::State;
use overnight_app::requests;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::CallId;
use overnight_domain::records::RequestRecord;
use overnight_wire::openai::chat::{Delivery, to_native, write_chunks, write_completion};

use super::streams::stream_completion;
use crate::bodies::JsonBody;
use crate::calls::Caller;
use crate::context::Shared;
use crate::creation;
use crate::errors::Answer;
use crate::held_requests::completion_of;
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
    let created =
        creation::create(&context.services, caller.0, (Endpoint::ChatCompletions, body), to_native, &name)
            .await?;
    let mut response = if delivery.is_stream {
        let write = move |completion: &[u8], out: &mut Vec<u8>| {
            write_chunks(completion, delivery.includes_usage, out);
        };
        stream_completion(waiting, created.id, call, write)
    } else {
        let ended = waiting.ended(created.id).await?;
        completion_of(&ended.record)?;
        ended.answer(write_whole).await?
    };
    created.name_in(&mut response);
    Ok(response)
}

/// Appends the completion of a request that has one.
fn write_whole(ended: &RequestRecord, out: &mut Vec<u8>) {
    if let Ok(completion) = completion_of(ended) {
        write_completion(completion, out);
    }
}
