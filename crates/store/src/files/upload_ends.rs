//! The ends of uploads in parts: completed, cancelled.

use overnight_domain::files::FileRecord;
use overnight_domain::ids::UploadId;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::uploads::{UploadRecord, UploadStatus};

use super::coming::{FinishedFile, finish_in, give_back};
use super::deletion::deleted;
use super::reads;
use super::uploads::lock;
use crate::database::{Tx, statements};
use crate::files::guarded::do_guarded;
use crate::idempotency_keys::{Guard, Guarded};
use crate::{Store, StoreError};

#[derive(Debug, Clone)]
pub struct Completion {
    pub id: UploadId,
    pub file: FinishedFile,
    /// The SHA-256 of what it is completed with.
    pub digest: [u8; 32],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completed {
    Completed(UploadRecord),
    /// It was completed with the same before; discard the file of this completion.
    Before(UploadRecord),
    Ended(UploadStatus),
    /// The file was given up, or the upload is gone.
    Gone,
}

impl Completed {
    /// `None` for an upload that was completed before: a repeat finds it without a key.
    const fn new_record(&self) -> Option<&UploadRecord> {
        match self {
            Self::Completed(record) => Some(record),
            Self::Before(_) | Self::Ended(_) | Self::Gone => None,
        }
    }
}

statements! {
    COMPLETE = "UPDATE uploads SET state = 1 /* completed */, file = ?, digest = ? WHERE seq = ? AND state = 0 /* pending */";
    CANCEL = "UPDATE uploads SET state = 2 /* cancelled */ WHERE seq = ? AND state = 0 /* pending */";
    DROP_PARTS = "UPDATE files SET state = 2 /* deleted */ WHERE upload = ? AND state = 0 /* coming */ RETURNING account, bytes";
}

/// Makes a file of the parts, and drops the parts; once for all calls with the key of the guard. `now` is in milliseconds.
pub async fn complete(
    store: &Store,
    completion: Completion,
    guard: Option<Guard<UploadRecord>>,
    now: i64,
) -> Result<Guarded<Completed>, StoreError> {
    let account = completion.file.account;
    let work = async move |tx: &mut Tx<'_>| complete_in(&completion, now, tx).await;
    do_guarded(store, account, guard, now, Completed::new_record, work).await
}

async fn complete_in(completion: &Completion, now: i64, tx: &mut Tx<'_>) -> Result<Completed, StoreError> {
    let Completion { id, file, digest } = completion;
    let Some(upload) = lock(file.account, *id, now, tx).await? else { return Ok(Completed::Gone) };
    let with_file = |file: Option<FileRecord>| UploadRecord {
        status: UploadStatus::Completed,
        file,
        ..upload.record.clone()
    };
    match upload.record.status {
        UploadStatus::Pending => {}
        UploadStatus::Completed if upload.digest.as_deref() == Some(digest) => {
            let file = match upload.file {
                Some(id) => reads::find_in(file.account, id, tx).await?,
                None => None,
            };
            return Ok(Completed::Before(with_file(file)));
        }
        ended => return Ok(Completed::Ended(ended)),
    }
    let Some(record) = finish_in(file, tx).await? else { return Ok(Completed::Gone) };
    tx.execute(COMPLETE.bind(file.id).bind(*digest).bind(upload.seq)).await?;
    drop_parts(upload.seq, tx).await?;
    Ok(Completed::Completed(with_file(Some(record))))
}

/// Cancels a pending upload, and drops its parts. Returns the upload, which may have ended otherwise before. `now` is in milliseconds.
pub async fn cancel(
    store: &Store,
    account: AccountKey,
    id: UploadId,
    now: i64,
) -> Result<Option<UploadRecord>, StoreError> {
    let work = async move |tx: &mut Tx<'_>| {
        let Some(mut upload) = lock(account, id, now, tx).await? else { return Ok(None) };
        if upload.record.status == UploadStatus::Pending {
            tx.execute(CANCEL.bind(upload.seq)).await?;
            drop_parts(upload.seq, tx).await?;
            upload.record.status = UploadStatus::Cancelled;
        }
        Ok(Some(upload.record))
    };
    store.transaction_of(account, work).await
}

/// Of an upload that has ended.
async fn drop_parts(upload: i64, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    give_back(&deleted(&tx.fetch(DROP_PARTS.bind(upload)).await?)?, tx).await
}
