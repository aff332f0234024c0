//! Creating a batch. The body is read as a stream, with one request in memory at a time.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use http_body_util::BodyExt;
use overnight_app::errors::AppError;
use overnight_app::file_batches::{ComingBatch, InputBatch};
use overnight_domain::faults::codes;
use overnight_wire::anthropic::batches::{Batch, write_batch};
use overnight_wire::anthropic::elements::{Elements, ElementsError};

use super::errors::invalid;
use crate::bodies::{self, Buffers};
use crate::calls::Caller;
use crate::context::Shared;
use crate::counters;
use crate::errors::{Answer, Refusal};
use crate::idempotency::{self, CallName};
use crate::shares::Client;

/// The longest body, in bytes.
const BODY_BYTES_MAX: usize = 256 << 20;

/// The memory of a batch that is being received, except long requests.
const HELD_BYTES: usize = 512 << 10;

/// A new batch has not ended, so it has no address of results.
fn write_created(batch: &InputBatch, out: &mut Vec<u8>) {
    write_batch(&Batch { record: &batch.record, expired: 0, base_url: "" }, out);
}

pub(super) async fn create(
    State(context): State<Shared>,
    caller: Caller,
    call: CallName,
    request: Request,
) -> Answer {
    let Some(_permit) = context.shares.begin_bulk(Client::Account(caller.0)) else {
        counters::count_over_share("bulk");
        return Err(Refusal::TooManyCalls);
    };
    let (parts, body) = request.into_parts();
    bodies::check_json(&parts.headers)?;
    let buffers = Buffers::of(&parts, &context);
    let _memory = buffers.take(HELD_BYTES).await?;
    let batch = ComingBatch::begin(&context.services, caller.0).await?;
    let batch = receive(body, batch, &context, &buffers).await?;
    let answered = batch.finish(call.repeatable(write_created)).await?;
    Ok(idempotency::answer(StatusCode::OK, &answered, write_created))
}

async fn receive(
    mut body: Body,
    mut batch: ComingBatch,
    context: &Shared,
    buffers: &Buffers,
) -> Result<ComingBatch, Refusal> {
    let request_bytes_max = context.services.config().limits.request_body_bytes;
    let mut elements = Elements::new(request_bytes_max);
    let (mut bytes, mut memory) = (0, None);
    while let Some(frame) = body.frame().await {
        let Ok(chunk) = frame.map_err(bodies::broken)?.into_data() else { continue };
        bytes += chunk.len();
        if bytes > BODY_BYTES_MAX {
            return Err(Refusal::TooLarge(BODY_BYTES_MAX));
        }
        let mut rest = &chunk[..];
        while !rest.is_empty() {
            if memory.is_none() && elements.pending_bytes() + rest.len() > HELD_BYTES {
                memory = buffers.take(request_bytes_max).await?;
            }
            let (element, read) = elements.read(rest).map_err(|error| refusal(error, request_bytes_max))?;
            rest = &rest[read..];
            if let Some(element) = element {
                batch.add(element).await?;
                memory = None;
            }
        }
    }
    elements.finish().map_err(|error| refusal(error, request_bytes_max))?;
    Ok(batch)
}

fn refusal(error: ElementsError, request_bytes_max: usize) -> Refusal {
    match error {
        ElementsError::Invalid(words) => AppError::invalid("", codes::INVALID_JSON, &words).into(),
        ElementsError::TooLong { place } => {
            invalid(&format!("requests.{place}: must be at most {request_bytes_max} bytes")).into()
        }
    }
}
