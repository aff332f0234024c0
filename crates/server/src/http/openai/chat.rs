//! Chat completions: each is a request of the queue, whose end the call waits for.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use overnight_domain::ids::CallId;
use overnight_wire::openai::chat::{Delivery, to_native, write_chunks, write_completion};

use super::{creation, streams};
use crate::app::requests;
use crate::http::bodies::JsonBody;
use crate::http::calls::Caller;
use crate::http::context::Shared;
use crate::http::errors::{Answer, Refusal};
use crate::http::idempotency::CallName;
use crate::http::waiting::{EndedRequest, MayWait};

/// Create a chat completion.
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
    let created = creation::create(&context.services, caller.0, body, to_native, &name).await?;
    let mut response = if delivery.is_stream {
        let close = move |ended: Result<&EndedRequest, Refusal>| {
            let mut out = Vec::new();
            match ended.and_then(EndedRequest::completion) {
                Ok(completion) => write_chunks(completion, delivery.includes_usage, &mut out),
                Err(refusal) => streams::write_error(&refusal, call, &mut out),
            }
            out
        };
        streams::answer(waiting, created.id, Vec::new(), close)
    } else {
        answer_whole(waiting.ended(created.id).await?)?
    };
    created.name_in(&mut response);
    Ok(response)
}

fn answer_whole(ended: EndedRequest) -> Answer {
    let mut out = Vec::new();
    write_completion(ended.completion()?, &mut out);
    Ok::<Response, Refusal>(ended.answer(out))
}
