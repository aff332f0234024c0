use axum::extract::multipart::Field;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::StatusCode;
use overnight_app::errors::AppError;
use overnight_app::file_batches;
use overnight_app::files::{self, FileQuery, FileTerms, Upload};
use overnight_domain::faults::{Quoted, codes};
use overnight_domain::ids::FileKind;
use overnight_wire::openai::files::{
    BATCH, parse_batch_file, write_batch_file, write_deleted, write_file, write_list,
};

use super::content;
use super::forms::{LineMemory, Storing};
use super::ids::file_id;
use crate::answers;
use crate::calls::Caller;
use crate::context::Shared;
use crate::errors::{Answer, Refusal};
use crate::idempotency::{self, CallName};
use crate::queries::PageQuery;

/// The maximum page size.
const PAGE_MAX: u32 = 10_000;

/// The range of a file's lifetime, in seconds: an hour to 30 days.
pub(super) const LASTS_SECONDS: std::ops::RangeInclusive<i64> = 3_600..=2_592_000;

/// The longest name of a file, in bytes: its row is charged for that.
const NAME_BYTES_MAX: usize = 255;

/// The fields of an upload form, in any order.
#[derive(Default)]
struct Form {
    purpose: Option<String>,
    name: Option<String>,
    seconds: Option<String>,
}

pub(super) async fn create(
    State(context): State<Shared>,
    caller: Caller,
    call: CallName,
    request: Request,
) -> Answer {
    let (storing, mut multipart) = Storing::of_form(&context, caller.0, request).await?;
    let (mut form, mut upload) = (Form::default(), None);
    while let Some(mut field) = storing.next_field(&mut multipart).await? {
        match field.name().unwrap_or_default() {
            "file" if upload.is_none() => {
                form.name = field.file_name().map(str::to_owned);
                let begun = Upload::begin(&context.services, caller.0).await?;
                begun.check_length(storing.announced)?;
                upload = Some(receive(field, begun, &context, &storing).await?);
            }
            "purpose" => form.purpose = Some(storing.short_text(&mut field).await?),
            "expires_after[seconds]" => form.seconds = Some(storing.short_text(&mut field).await?),
            _ => drop(storing.short_text(&mut field).await?),
        }
    }
    let upload = upload.ok_or_else(|| AppError::invalid("file", codes::MISSING, "is required"))?;
    let answered = upload.finish(form.terms()?, call.repeatable(write_file)).await?;
    Ok(idempotency::answer(StatusCode::OK, &answered, write_file))
}

async fn receive(
    mut field: Field<'_>,
    mut upload: Upload,
    context: &Shared,
    storing: &Storing,
) -> Result<Upload, Refusal> {
    let mut memory = LineMemory::new(storing, context.services.config().limits.request_body_bytes);
    while let Some(chunk) = storing.chunk(&mut field).await? {
        memory.make_room(upload.held_bytes() + chunk.len()).await?;
        upload.write(&chunk).await?;
    }
    Ok(upload)
}

impl Form {
    fn terms(self) -> Result<FileTerms, AppError> {
        let Self { purpose, name, seconds } = self;
        match purpose.as_deref() {
            Some(BATCH) => {}
            Some(other) => {
                let message = other_purpose(other);
                return Err(AppError::invalid("purpose", codes::UNKNOWN_VALUE, &message));
            }
            None => return Err(AppError::invalid("purpose", codes::MISSING, "is required")),
        }
        let lasts_ms =
            seconds.map(|text| text.parse().ok().filter(|seconds| LASTS_SECONDS.contains(seconds)));
        if lasts_ms == Some(None) {
            let message = lasts_words();
            return Err(AppError::invalid("expires_after.seconds", codes::OUT_OF_RANGE, &message));
        }
        let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "batch.jsonl".to_owned());
        if !is_name(&name) {
            return Err(AppError::invalid("filename", codes::OUT_OF_RANGE, &name_words()));
        }
        Ok(FileTerms { name, lasts_ms: lasts_ms.flatten().map(|seconds| seconds * 1_000) })
    }
}

/// The message for an invalid purpose.
pub(super) fn other_purpose(purpose: &str) -> String {
    format!("must be '{BATCH}', not '{}': no other files are taken", Quoted(purpose))
}

/// Whether a file may have this name.
pub(super) fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.contains(char::is_control)
}

/// The message for an invalid name.
pub(super) fn name_words() -> String {
    format!("must be a string of 1 to {NAME_BYTES_MAX} bytes without control characters")
}

/// The message for an invalid lifetime.
pub(super) fn lasts_words() -> String {
    format!("must be an integer from {} to {}", LASTS_SECONDS.start(), LASTS_SECONDS.end())
}

pub(super) async fn list(State(context): State<Shared>, caller: Caller, RawQuery(query): RawQuery) -> Answer {
    let query = PageQuery::<FileKind>::read(query.as_deref().unwrap_or_default(), PAGE_MAX, PAGE_MAX)?;
    let query = FileQuery { after: query.after, limit: query.limit, direction: query.direction };
    let page = files::list(&context.services, caller.0, query).await?;
    Ok(answers::ok(|out| write_list(&page.rows, page.has_more, write_file, |file| file.id, out)))
}

/// Also finds the output files of batches.
pub(super) async fn get(State(context): State<Shared>, caller: Caller, Path(id): Path<String>) -> Answer {
    let Some((kind, batch)) = parse_batch_file(&id) else {
        let file = files::get(&context.services, caller.0, file_id(&id)).await?;
        return Ok(answers::ok(|out| write_file(&file, out)));
    };
    let (batch, bytes) = content::measure(&context, caller.0, kind, batch).await?;
    let record = &batch.record;
    let named = (record.id, record.state.status());
    Ok(answers::ok(|out| write_batch_file(kind, named, record.created_at, bytes, out)))
}

/// Also deletes the output files of batches.
pub(super) async fn delete(State(context): State<Shared>, caller: Caller, Path(id): Path<String>) -> Answer {
    match parse_batch_file(&id) {
        None => files::delete(&context.services, caller.0, file_id(&id)).await?,
        Some((file, batch)) => {
            file_batches::delete_output(&context.services, caller.0, batch, file).await?;
        }
    }
    Ok(answers::ok(|out| write_deleted(&id, out)))
}
