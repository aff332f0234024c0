//! Batches of files, and the view of every batch for clients that read files.

use bytes::Bytes;
use overnight_domain::batches::BatchStatus;
use overnight_domain::faults::codes;
use overnight_domain::files::{BatchEndpoint, BatchFile};
use overnight_domain::ids::{BatchId, FileId};
use overnight_domain::json::ObjectWriter;
use overnight_domain::money::Credits;
use overnight_domain::scheduler::AccountKey;
use overnight_store::batches::{self, InputBatch, NewBatch, NewInputBatch, NewInputBatchOutcome};
use overnight_store::files::FoundFile;
use overnight_store::idempotency_keys::{Guard, Guarded};

use crate::batches::NOUN as BATCH;
use crate::errors::AppError;
use crate::files;
use crate::idempotency::{self, Answered, Repeatable};
use crate::pages::RecordPages;
use crate::{Actor, Services, input};

#[derive(Debug, Clone)]
pub struct FromFile {
    pub file: FileId,
    pub endpoint: BatchEndpoint,
    pub webhook: Option<String>,
    /// A JSON object, or `None` for null.
    pub metadata: Option<Vec<u8>>,
}

/// Creates a batch from all lines of a file, or a failed batch if any line is bad. The lines become requests a little later. `digest` is
/// the SHA-256 of the call's body. Fails with [`AppError::Invalid`] if the account has no such file or the webhook is invalid, and with
/// [`AppError::InsufficientCredits`] if it cannot pay the maximum cost.
pub async fn create_of_file(
    services: &Services,
    account: AccountKey,
    from: FromFile,
    digest: [u8; 32],
    call: Option<Repeatable<InputBatch>>,
) -> Result<Answered<InputBatch>, AppError> {
    let guard = idempotency::guard_of(services, account, digest, call).await?;
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

/// The batch of a file. If its lines are for another endpoint, all of them are bad.
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

/// A batch of the account, of any origin.
pub async fn get_with_input(
    services: &Services,
    account: AccountKey,
    id: BatchId,
) -> Result<InputBatch, AppError> {
    find_with_input(services, account, id).await.map(|(_, batch)| batch)
}

/// Up to `limit` batches of the account after `after`, newest first, and whether there are more.
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

/// A batch, and the requests that one file of it holds. Fails with [`AppError::NotFound`] if that file was deleted.
pub async fn read_file(
    services: &Services,
    account: AccountKey,
    id: BatchId,
    file: BatchFile,
) -> Result<(InputBatch, RecordPages), AppError> {
    let (row, batch) = find_with_input(services, account, id).await?;
    let is_deleted = batch.input.as_ref().is_some_and(|input| match file {
        BatchFile::Input => false,
        BatchFile::Output => input.is_output_deleted,
        BatchFile::Errors => input.is_error_deleted,
    });
    if is_deleted {
        return Err(AppError::NotFound(files::NOUN));
    }
    let pages = match file {
        BatchFile::Input => RecordPages::of_batch(services, account, row),
        BatchFile::Output => RecordPages::completed_of_batch(services, account, row),
        BatchFile::Errors => RecordPages::unanswered_of_batch(services, account, row),
    };
    Ok((batch, pages))
}

/// Keeps the measured length of a file of a batch, if the batch has ended.
pub async fn keep_length(
    services: &Services,
    account: AccountKey,
    batch: &InputBatch,
    file: BatchFile,
    bytes: i64,
) -> Result<(), AppError> {
    if matches!(batch.record.state.status(), BatchStatus::Completed | BatchStatus::Cancelled) {
        batches::keep_length(&services.store, account, batch, file, bytes).await?;
    }
    Ok(())
}

/// Deletes the output or error file of a batch; the requests stay. Fails with [`AppError::NotFound`] if the batch was not made from a file.
pub async fn delete_output(
    services: &Services,
    account: AccountKey,
    id: BatchId,
    file: BatchFile,
) -> Result<(), AppError> {
    match batches::delete_output(&services.store, account, id, file).await? {
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
