use axum::extract::{FromRequest, Path, Request, State};
use axum::http::StatusCode;
use bytes::Bytes;
use overnight_app::errors::AppError;
use overnight_app::files::FileTerms;
use overnight_app::uploads::{self, BegunCompletion, ComingPart, Completing, Completion};
use overnight_domain::faults::{Faults, codes};
use overnight_domain::ids::PartId;
use overnight_domain::json::{Json, RawObject};
use overnight_wire::openai::files::BATCH;
use overnight_wire::openai::uploads::{write_part, write_upload};
use sha2::{Digest, Sha256};

use super::files::{LASTS_SECONDS, is_name, lasts_words, name_words, other_purpose};
use super::forms::{LineMemory, Storing};
use super::ids::upload_id;
use super::objects;
use crate::answers;
use crate::bodies::{Buffers, JsonBody};
use crate::calls::Caller;
use crate::context::Shared;
use crate::errors::Answer;
use crate::idempotency::{self, CallName};

pub(super) async fn create(
    State(context): State<Shared>,
    caller: Caller,
    call: CallName,
    JsonBody(body): JsonBody,
) -> Answer {
    let terms = read_create(&body, context.services.config().limits.file_bytes)?;
    let (digest, call) = (Sha256::digest(&body).into(), call.repeatable(write_upload));
    let answered = uploads::create(&context.services, caller.0, terms, digest, call).await?;
    Ok(idempotency::answer(StatusCode::OK, &answered, write_upload))
}

pub(super) async fn add_part(
    State(context): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
    call: CallName,
    request: Request,
) -> Answer {
    let (storing, mut form) = Storing::of_form(&context, caller.0, request).await?;
    let mut part = None;
    while let Some(mut field) = storing.next_field(&mut form).await? {
        if field.name() != Some("data") || part.is_some() {
            drop(storing.short_text(&mut field).await?);
            continue;
        }
        let mut coming =
            ComingPart::begin(&context.services, caller.0, upload_id(&id), call.is_some()).await?;
        coming.check_length(storing.announced)?;
        while let Some(chunk) = storing.chunk(&mut field).await? {
            coming.write(&chunk).await?;
        }
        part = Some(coming);
    }
    let part = part.ok_or_else(|| AppError::invalid("data", codes::MISSING, "is required"))?;
    let answered = part.finish(call.repeatable(write_part)).await?;
    Ok(idempotency::answer(StatusCode::OK, &answered, write_part))
}

pub(super) async fn complete(
    State(context): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
    call: CallName,
    request: Request,
) -> Answer {
    let (parts, body) = request.into_parts();
    let buffers = Buffers::of(&parts, &context);
    let JsonBody(body) = JsonBody::from_request(Request::from_parts(parts, body), &context).await?;
    let completion = read_completion(&id, &body)?;
    let storing = Storing::begin(&context, caller.0, buffers).await?;
    let call = call.repeatable(write_upload);
    let answered = match Completing::begin(&context.services, caller.0, completion, call).await? {
        BegunCompletion::Begun(mut completing) => {
            let mut memory = LineMemory::new(&storing, context.services.config().limits.request_body_bytes);
            while let Some(piece) = completing.next_piece().await? {
                memory.make_room(completing.held_bytes() + piece.len()).await?;
                completing.write(&piece).await?;
            }
            completing.finish().await?
        }
        BegunCompletion::Done(answered) => answered,
    };
    Ok(idempotency::answer(StatusCode::OK, &answered, write_upload))
}

pub(super) async fn cancel(State(context): State<Shared>, caller: Caller, Path(id): Path<String>) -> Answer {
    let upload = uploads::cancel(&context.services, caller.0, upload_id(&id)).await?;
    Ok(answers::ok(|out| write_upload(&upload, out)))
}

/// The terms of the file, and its length.
fn read_create(body: &Bytes, bytes_max: usize) -> Result<(FileTerms, i64), AppError> {
    let text = objects::read(body)?;
    let object = objects::object(&text)?;
    let mut faults = Faults::default();
    let bytes = read_integer(&object, "bytes").filter(|bytes| (1..=bytes_max as i64).contains(bytes));
    if bytes.is_none() {
        faults.push(
            "bytes",
            codes::OUT_OF_RANGE,
            format_args!("must be an integer from 1 to {bytes_max}, the length of the file"),
        );
    }
    let name = object.get("filename").and_then(Json::decode_string);
    let name = name.filter(|name| is_name(name));
    if name.is_none() {
        faults.push("filename", codes::OUT_OF_RANGE, name_words());
    }
    if object.get("mime_type").and_then(Json::decode_string).is_none() {
        faults.push("mime_type", codes::MISSING, "is required, as a string");
    }
    match object.get("purpose").and_then(Json::decode_string) {
        Some(purpose) if purpose == BATCH => {}
        Some(other) => faults.push("purpose", codes::UNKNOWN_VALUE, other_purpose(&other)),
        None => faults.push("purpose", codes::MISSING, "is required, as a string"),
    }
    let lasts_ms = read_lasts(&object, &mut faults);
    match (bytes, name) {
        (Some(bytes), Some(name)) if faults.is_empty() => {
            Ok((FileTerms { name: name.into_owned(), lasts_ms }, bytes))
        }
        _ => Err(faults.into()),
    }
}

/// The lifetime of the file, in milliseconds, if it is given.
fn read_lasts(object: &RawObject<'_>, faults: &mut Faults) -> Option<i64> {
    let after = object.get_some("expires_after")?.to_object();
    let after = after.filter(|after| {
        after.get("anchor").and_then(Json::decode_string).is_some_and(|anchor| anchor == "created_at")
    });
    let Some(after) = after else {
        let message = "must be an object with the anchor \"created_at\" and seconds";
        faults.push("expires_after", codes::WRONG_TYPE, message);
        return None;
    };
    let seconds = read_integer(&after, "seconds").filter(|seconds| LASTS_SECONDS.contains(seconds));
    if seconds.is_none() {
        faults.push("expires_after.seconds", codes::OUT_OF_RANGE, lasts_words());
    }
    seconds.map(|seconds| seconds * 1_000)
}

fn read_integer(object: &RawObject<'_>, key: &str) -> Option<i64> {
    object.get(key)?.as_integer_text()?.parse().ok()
}

fn read_completion(id: &str, body: &Bytes) -> Result<Completion, AppError> {
    let text = objects::read(body)?;
    let object = objects::object(&text)?;
    let parts = object.get("part_ids").and_then(Json::elements);
    let parts = parts.ok_or_else(|| {
        AppError::invalid("part_ids", codes::MISSING, "is required, as an array of identifiers")
    })?;
    // A malformed identifier becomes one that is never found.
    let part = |part: Json<'_>| {
        let id = part.decode_string().and_then(|id| PartId::parse(&id));
        id.unwrap_or(PartId::from_bits(0))
    };
    let md5 = match object.get_some("md5") {
        Some(md5) => Some(read_md5(md5).ok_or_else(|| {
            AppError::invalid("md5", codes::WRONG_TYPE, "must be a string of 32 hexadecimal digits")
        })?),
        None => None,
    };
    Ok(Completion { upload: upload_id(id), parts: parts.map(part).collect(), md5 })
}

fn read_md5(md5: Json<'_>) -> Option<[u8; 16]> {
    let text = md5.decode_string()?;
    let is_digits = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_digits.then(|| u128::from_str_radix(&text, 16).ok()).flatten().map(u128::to_be_bytes)
}
