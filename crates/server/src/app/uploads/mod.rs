//! Files that are uploaded in parts: begun, sent part by part in any order, completed or cancelled.
//!
//! A file in parts is a file that comes twice. A part is stored as a file that comes (`files.upload` names its upload), so it counts
//! as stored bytes, is listed nowhere and is given up by the same worker. Completing an upload reads the pieces of its parts in the
//! order that the client names, through the same checks as an upload in one piece; one transaction then makes the file, notes it with
//! the upload and drops the parts. A completion that breaks off leaves the upload pending, and the same completion again finds the
//! file.

mod completion;
mod parts;

use overnight_domain::ids::UploadId;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::uploads::{PENDING_UPLOADS_MAX, UPLOAD_LASTS_MS, UploadRecord, UploadStatus};

pub use self::completion::{BegunCompletion, Completing, Completion};
pub use self::parts::ComingPart;
use super::Services;
use super::errors::{AppError, InputFault, InvalidInput};
use super::files::FileTerms;
use super::idempotency::{self, Answered, Repeatable};
use crate::store::files::{self, Begun, FoundUpload, NewUpload};
use crate::store::idempotency_keys::{Guard, Guarded, IdempotencyKey};

const NOUN: &str = "upload";

/// Begins an upload of a file of so many bytes; `digest` is the SHA-256 of the body of the call.
///
/// # Errors
///
/// [`AppError::Invalid`] where the account has as many pending uploads as it may, [`AppError::QuotaExceeded`] where it stores all that it may,
/// and [`AppError::IdempotencyKeyReused`] where the call has the key of another.
pub async fn create(
    services: &Services,
    account: AccountKey,
    (terms, bytes): (FileTerms, i64),
    digest: [u8; 32],
    call: Option<Repeatable<UploadRecord>>,
) -> Result<Answered<UploadRecord>, AppError> {
    let guard = call.map(|Repeatable { hash, write }| Guard { key: IdempotencyKey { hash, digest }, write });
    let now = services.clock.now();
    let record = UploadRecord {
        id: services.ids.next(now),
        created_at: now,
        expires_at: now + UPLOAD_LASTS_MS,
        bytes,
        name: terms.name,
        status: UploadStatus::Pending,
        file: None,
    };
    let new = NewUpload { record, account, file_lasts_ms: terms.lasts_ms };
    match files::create(&services.store, new, guard).await? {
        Guarded::Done(Begun::Begun(record)) => Ok(Answered::New(record)),
        Guarded::Done(Begun::TooMany) => Err(refused(format!(
            "the account has {PENDING_UPLOADS_MAX} pending uploads, as many as it may: complete or cancel one, or wait; each ends an hour after its creation"
        ))),
        Guarded::Done(Begun::OverQuota(exceeded)) => Err(exceeded.into()),
        Guarded::Recalled(recalled) => idempotency::response(recalled).map(Answered::Repeat),
    }
}

/// Cancels an upload, and drops its parts. One that was cancelled before stays so.
///
/// # Errors
///
/// [`AppError::NotFound`] where it is none of the account's, [`AppError::AlreadyEnded`] where it is completed or has expired.
pub async fn cancel(
    services: &Services,
    account: AccountKey,
    id: UploadId,
) -> Result<UploadRecord, AppError> {
    let now = services.clock.now();
    let upload = files::cancel(&services.store, account, id, now).await?.ok_or(AppError::NotFound(NOUN))?;
    match upload.status {
        UploadStatus::Pending | UploadStatus::Cancelled => Ok(upload),
        ended => Err(has_ended(ended)),
    }
}

async fn find(services: &Services, account: AccountKey, id: UploadId) -> Result<FoundUpload, AppError> {
    let found = files::find_upload(&services.store, account, id, services.clock.now()).await?;
    found.ok_or(AppError::NotFound(NOUN))
}

const fn has_ended(status: UploadStatus) -> AppError {
    AppError::AlreadyEnded { what: NOUN, status: status.as_str() }
}

/// What is refused not for a field of the input.
fn refused(message: String) -> AppError {
    let code = overnight_domain::faults::codes::OUT_OF_RANGE;
    let detail = InputFault { param: String::new(), id: None, code, message };
    AppError::Invalid(InvalidInput { details: vec![detail], total: None })
}
