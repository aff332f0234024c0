//! Batches over HTTP.

use axum::extract::{Path, RawQuery, State};
use bytes::Bytes;
use overnight_app::batches;
use overnight_app::errors::AppError;
use overnight_app::file_batches::{self, FromFile, InputBatch};
use overnight_app::idempotency::{Answered, read_id};
use overnight_domain::faults::{Faults, Quoted, codes};
use overnight_domain::files::BatchEndpoint;
use overnight_domain::ids::{BatchKind, FileId};
use overnight_domain::json::{Json, Kind, RawObject};
use overnight_wire::openai::batches::{Batch, write_batch};
use overnight_wire::openai::files::write_list;
use sha2::{Digest, Sha256};

use super::ids::{batch_id, file_id};
use super::objects;
use crate::answers;
use crate::bodies::JsonBody;
use crate::calls::Caller;
use crate::context::Shared;
use crate::errors::Answer;
use crate::idempotency::{self, CallName};
use crate::queries::PageQuery;

/// The default and maximum page size.
const PAGE: u32 = 20;
const PAGE_MAX: u32 = 100;

/// OpenAI's limit on metadata.
const METADATA_PAIRS_MAX: usize = 16;
const METADATA_KEY_CHARS_MAX: usize = 64;
const METADATA_VALUE_CHARS_MAX: usize = 512;

fn write(batch: &InputBatch, out: &mut Vec<u8>) {
    let InputBatch { record, input, is_cancelling, .. } = batch;
    write_batch(&Batch { record, input: input.as_ref(), is_cancelling: *is_cancelling }, out);
}

/// Creates a batch of a file.
pub(super) async fn create(
    State(context): State<Shared>,
    caller: Caller,
    call: CallName,
    JsonBody(body): JsonBody,
) -> Answer {
    let from = read(&body)?;
    let digest = Sha256::digest(&body).into();
    // An answer lists what is wrong with the file: too much to keep for repeats.
    let call = call.repeatable(write_id);
    let answered = file_batches::create_of_file(&context.services, caller.0, from, digest, call).await?;
    let is_repeat = matches!(answered, Answered::Repeat(_));
    let batch = match answered {
        Answered::New(batch) => batch,
        Answered::Repeat(id) => {
            file_batches::get_with_input(&context.services, caller.0, read_id(&id)?).await?
        }
    };
    let mut response = answers::ok(|out| write(&batch, out));
    if is_repeat {
        idempotency::mark_repeat(&mut response);
    }
    Ok(response)
}

fn write_id(batch: &InputBatch, out: &mut Vec<u8>) {
    batch.record.id.append_to(out);
}

pub(super) async fn get(State(context): State<Shared>, caller: Caller, Path(id): Path<String>) -> Answer {
    let batch = file_batches::get_with_input(&context.services, caller.0, batch_id(&id)).await?;
    Ok(answers::ok(|out| write(&batch, out)))
}

/// The newest first.
pub(super) async fn list(State(context): State<Shared>, caller: Caller, RawQuery(query): RawQuery) -> Answer {
    let query = PageQuery::<BatchKind>::read(query.as_deref().unwrap_or_default(), PAGE, PAGE_MAX)?;
    let (page, has_more) =
        file_batches::list_with_inputs(&context.services, caller.0, query.after, query.limit).await?;
    Ok(answers::ok(|out| write_list(&page, has_more, write, |batch| batch.record.id, out)))
}

pub(super) async fn cancel(State(context): State<Shared>, caller: Caller, Path(id): Path<String>) -> Answer {
    let id = batch_id(&id);
    batches::cancel(&context.services, caller.0, id).await?;
    let batch = file_batches::get_with_input(&context.services, caller.0, id).await?;
    Ok(answers::ok(|out| write(&batch, out)))
}

/// Parses the body of a create call.
fn read(body: &Bytes) -> Result<FromFile, AppError> {
    let text = objects::read(body)?;
    let object = objects::object(&text)?;
    let mut faults = Faults::default();
    let from = FromFile {
        file: read_file(&object, &mut faults),
        endpoint: read_endpoint(&object, &mut faults),
        webhook: read_webhook(&object, &mut faults),
        metadata: read_metadata(&object, &mut faults),
    };
    match object.get("completion_window").and_then(Json::decode_string) {
        Some(window) if window == "24h" => {}
        _ => faults.push("completion_window", codes::UNKNOWN_VALUE, "must be \"24h\""),
    }
    if faults.is_empty() { Ok(from) } else { Err(faults.into()) }
}

fn read_file(object: &RawObject<'_>, faults: &mut Faults) -> FileId {
    let id = object.get("input_file_id").and_then(Json::decode_string);
    if id.is_none() {
        faults.push("input_file_id", codes::MISSING, "is required, as a string");
    }
    file_id(&id.unwrap_or_default())
}

fn read_endpoint(object: &RawObject<'_>, faults: &mut Faults) -> BatchEndpoint {
    let name = object.get("endpoint").and_then(Json::decode_string).unwrap_or_default();
    BatchEndpoint::parse(&name).unwrap_or_else(|| {
        let known = BatchEndpoint::ALL.map(BatchEndpoint::as_str).join(", ");
        let message = format_args!("must be one of {known}, not '{}'", Quoted(&name));
        faults.push("endpoint", codes::UNKNOWN_VALUE, message);
        BatchEndpoint::ChatCompletions
    })
}

fn read_webhook(object: &RawObject<'_>, faults: &mut Faults) -> Option<String> {
    let webhook = object.get_some("webhook")?;
    let address = webhook.decode_string();
    if address.is_none() {
        faults.push("webhook", codes::WRONG_TYPE, "must be a string or null");
    }
    address.map(Into::into)
}

/// Up to 16 pairs of texts, as OpenAI accepts.
fn read_metadata(object: &RawObject<'_>, faults: &mut Faults) -> Option<Vec<u8>> {
    let metadata = object.get_some("metadata")?;
    let mut pairs = 0;
    let is_short = |text: &str, max: usize| text.chars().nth(max).is_none();
    let is_pair = |key: &str, value: Json<'_>| {
        is_short(key, METADATA_KEY_CHARS_MAX)
            && value.decode_string().is_some_and(|text| is_short(&text, METADATA_VALUE_CHARS_MAX))
    };
    let is_taken = metadata.kind() == Kind::Object
        && metadata.members().into_iter().flatten().all(|member| {
            pairs += 1;
            pairs <= METADATA_PAIRS_MAX && is_pair(&member.key(), member.value)
        });
    if !is_taken {
        let message = format_args!(
            "must be an object of at most {METADATA_PAIRS_MAX} texts of at most {METADATA_VALUE_CHARS_MAX} characters, under keys of at most {METADATA_KEY_CHARS_MAX}"
        );
        faults.push("metadata", codes::OUT_OF_RANGE, message);
        return None;
    }
    Some(metadata.as_str().into())
}
