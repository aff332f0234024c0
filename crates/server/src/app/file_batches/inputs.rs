//! Batches of files, and what every batch looks like to clients that read files.

use bytes::Bytes;
use overnight_domain::faults::codes;
use overnight_domain::files::BatchEndpoint;
use overnight_domain::ids::{BatchId, FileId};
use overnight_domain::json::ObjectWriter;
use overnight_domain::money::Credits;
use overnight_domain::scheduler::AccountKey;

use crate::app::batches::NOUN as BATCH;
use crate::app::errors::AppError;
use crate::app::files;
use crate::app::idempotency::{self, Answered, Repeatable};
use crate::app::request_pages::RecordPages;
use crate::app::{Actor, Services, input};
use crate::store::batches::{self, InputBatch, NewBatch, NewInputBatch, NewInputBatchOutcome, OutputKind};
use crate::store::files::FoundFile;
use crate::store::idempotency_keys::{Guard, Guarded, IdempotencyKey};

#[derive(Debug, Clone)]
pub struct FromFile {
    pub file: FileId,
    pub endpoint: BatchEndpoint,
    /// Where to tell of the end of the batch.
    pub webhook: Option<String>,
    /// A JSON object, or `None` for null.
    pub metadata: Option<Vec<u8>>,
}

/// Makes a batch of a file: with all of its lines, or, where any line is bad, one that has failed. The lines become requests a little later.
/// `digest` is the SHA-256 of what was sent.
///
/// # Errors
///
/// [`AppError::Invalid`] where the account has no such file, or the webhook could be none; [`AppError::InsufficientCredits`] where it cannot
/// pay the most that the lines may cost; [`AppError::QuotaExceeded`] where it stores all that it may; [`AppError::IdempotencyKeyReused`]
/// where the call has the key of another.
pub async fn create_of_file(
    services: &Services,
    account: AccountKey,
    from: FromFile,
    digest: [u8; 32],
    call: Option<Repeatable<InputBatch>>,
) -> Result<Answered<InputBatch>, AppError> {
    let guard = call.map(|Repeatable { hash, write }| Guard { key: IdempotencyKey { hash, digest }, write });
    let outcome = create_now(services, account, from, guard).await;
    idempotency::or_repeat(services, account, guard, outcome).await
}

async fn create_now(
    services: &Services,
    account: AccountKey,
    from: FromFile,
    guard: Option<Guard<InputBatch>>,
) -> Result<Answered<InputBatch>, AppError> {
    let FromFile { file, endpoint, webhook, metadata } = from;
    if let Some(address) = &webhook {
        input::check_address(address, &services.config().webhooks)?;
    }
    let found = files::find(services, account, file).await.map_err(|error| match error {
        AppError::NotFound(_) => no_such_file(),
        other => other,
    })?;
    let now = services.clock.now();
    let id = services.ids.next(now);
    let batch = NewBatch { id, account, created_at: now, webhook, metadata, members: Vec::new() };
    let made = batches::insert_of_file(&services.store, new(found, endpoint, batch), guard).await?;
    match made {
        Guarded::Done(NewInputBatchOutcome::Created(batch)) => {
            services.signals.ring_fillers();
            Ok(Answered::New(*batch))
        }
        Guarded::Done(NewInputBatchOutcome::NoFile) => Err(no_such_file()),
        Guarded::Done(NewInputBatchOutcome::Suspended) => Err(AppError::AccountSuspended),
        Guarded::Done(NewInputBatchOutcome::OverQuota(exceeded)) => Err(exceeded.into()),
        Guarded::Done(NewInputBatchOutcome::InsufficientCredits { required, available }) => {
            Err(AppError::InsufficientCredits { required, available })
        }
        Guarded::Recalled(recalled) => idempotency::response(recalled).map(Answered::Repeat),
    }
}

fn no_such_file() -> AppError {
    AppError::invalid("input_file_id", codes::UNKNOWN, "is none of your files")
}

/// The batch of a file. Lines for another endpoint are bad ones, all of them.
fn new(
    FoundFile { seq, hold, record: file }: FoundFile,
    endpoint: BatchEndpoint,
    batch: NewBatch,
) -> NewInputBatch {
    let wrong = match file.endpoint {
        _ if file.fault_count > 0 => None,
        None => Some(("empty_file", "the file has no lines".to_owned())),
        Some(own) if own != endpoint => {
            let message =
                format!("the lines of the file are for {}, not {}", own.as_str(), endpoint.as_str());
            Some(("mismatched_endpoint", message))
        }
        Some(_) => None,
    };
    let (fault_count, faults) = match wrong {
        None => (file.fault_count, file.faults),
        Some((code, message)) => (file.lines.max(1), Some(list_of_one(code, &message))),
    };
    let (lines, hold) = if fault_count > 0 { (0, Credits::ZERO) } else { (file.lines, hold) };
    let api_key = Actor::api_key();
    NewInputBatch { batch, file: seq, file_id: file.id, endpoint, lines, hold, api_key, fault_count, faults }
}

fn list_of_one(code: &str, message: &str) -> Bytes {
    let mut fault = ObjectWriter::with_capacity(message.len() + 64);
    fault.string("code", code);
    fault.string("message", message);
    format!("[{}]", fault.finish().as_str()).into()
}

/// A batch of the account, whatever made it.
pub async fn get_with_input(
    services: &Services,
    account: AccountKey,
    id: BatchId,
) -> Result<InputBatch, AppError> {
    find_with_input(services, account, id).await.map(|(_, batch)| batch)
}

/// Up to `limit` batches of the account, the newest first, behind `after`; and whether there are more.
pub async fn list_with_inputs(
    services: &Services,
    account: AccountKey,
    after: Option<BatchId>,
    limit: u32,
) -> Result<(Vec<InputBatch>, bool), AppError> {
    let before = match after {
        Some(id) => Some(find_with_input(services, account, id).await?.0),
        None => None,
    };
    let mut batches = batches::page_with_inputs(&services.store, account, before, limit + 1).await?;
    let has_more = batches.len() > limit as usize;
    batches.truncate(limit as usize);
    Ok((batches, has_more))
}

/// What of a batch's requests is read as a file.
///
/// # Errors
///
/// [`AppError::NotFound`] where it is none of the account's, or that file was deleted.
pub async fn outputs(
    services: &Services,
    account: AccountKey,
    id: BatchId,
    kind: OutputKind,
) -> Result<(InputBatch, RecordPages), AppError> {
    let (row, batch) = find_with_input(services, account, id).await?;
    let is_deleted = batch.input.as_ref().is_some_and(|input| match kind {
        OutputKind::Answers => input.is_output_deleted,
        OutputKind::Errors => input.is_error_deleted,
    });
    if is_deleted {
        return Err(AppError::NotFound(files::NOUN));
    }
    let pages = match kind {
        OutputKind::Answers => RecordPages::completed_of_batch(services, account, row),
        OutputKind::Errors => RecordPages::unanswered_of_batch(services, account, row),
    };
    Ok((batch, pages))
}

/// Deletes what of a batch is read as a file. The requests stay.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such file, or the batch came from none.
pub async fn delete_output(
    services: &Services,
    account: AccountKey,
    id: BatchId,
    kind: OutputKind,
) -> Result<(), AppError> {
    match batches::delete_output(&services.store, account, id, kind).await? {
        true => Ok(()),
        false => Err(AppError::NotFound(files::NOUN)),
    }
}

async fn find_with_input(
    services: &Services,
    account: AccountKey,
    id: BatchId,
) -> Result<(i64, InputBatch), AppError> {
    batches::find_with_input(&services.store, account, id).await?.ok_or(AppError::NotFound(BATCH))
}
