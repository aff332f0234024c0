//! Files that are uploaded in parts: begun, sent part by part in any order, completed or cancelled.
//!
//! A part is stored like a file that is being received (`files.upload` names its upload), so it counts as stored bytes, is not listed, and
//! is discarded by the same worker. Completion reads the pieces of the parts in the client's order, through the same checks as an upload in
//! one piece; one transaction then creates the file, records it with the upload and drops the parts. An interrupted completion leaves the
//! upload pending, and the same completion again finds the file.

mod completion;
mod parts;

use overnight_domain::ids::UploadId;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::uploads::{PENDING_UPLOADS_MAX, UPLOAD_LASTS_MS, UploadRecord, UploadStatus};

pub use self::completion::{BegunCompletion, Completing, Completion};
pub use self::parts::ComingPart;
use overnight_store::files::{self, Begun, FoundUpload, NewUpload};
use overnight_store::idempotency_keys::Guarded;

use super::Services;
use super::errors::{AppError, InputFault, InvalidInput};
use super::files::FileTerms;
use super::idempotency::{self, Answered, Repeatable};

const NOUN: &str = "upload";

/// Begins an upload of a file of this many bytes; `digest` is the SHA-256 of the call's body. Fails with [`AppError::Invalid`] if the
/// account has too many pending uploads.
pub async fn create(
    services: &Services,
    account: AccountKey,
    (terms, bytes): (FileTerms, i64),
    digest: [u8; 32],
    call: Option<Repeatable<UploadRecord>>,
) -> Result<Answered<UploadRecord>, AppError> {
    let guard = idempotency::guard_of(services, account, digest, call).await?;
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

/// Cancels an upload, and drops its parts. Idempotent. Fails with [`AppError::AlreadyEnded`] if it is completed or has expired.
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

/// A refusal that concerns no single field.
fn refused(message: String) -> AppError {
    let code = overnight_domain::faults::codes::OUT_OF_RANGE;
    let detail = InputFault { param: String::new(), id: None, code, message };
    AppError::Invalid(InvalidInput { details: vec![detail], total: None })
}
