//! The parts of an upload: files that stay incomplete, each attached to its upload once it has arrived.

use overnight_domain::ids::PartId;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::uploads::{PARTS_MAX, PartRecord, UploadStatus};

use super::uploads::lock;
use crate::database::{Row, Tx, statements};
use crate::files::guarded::do_guarded;
use crate::idempotency_keys::{Guard, Guarded};
use crate::{Store, StoreError};

#[derive(Debug, Clone, Copy)]
pub struct NewPart {
    pub record: PartRecord,
    pub file: i64,
    pub account: AccountKey,
    pub bytes: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attached {
    Attached(PartRecord),
    /// The upload has ended so, and accepts no more parts.
    Ended(UploadStatus),
    /// The upload has the maximum number of parts.
    TooMany,
    /// With it, the parts would exceed their limit of this many bytes.
    TooLong(i64),
    /// The part was given up, or the upload is gone.
    Gone,
}

impl Attached {
    const fn record(&self) -> Option<&PartRecord> {
        match self {
            Self::Attached(record) => Some(record),
            _ => None,
        }
    }
}

/// A part that waits for the completion of its upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundPart {
    pub id: PartId,
    pub file: i64,
    pub bytes: i64,
}

statements! {
    SUM = "SELECT count(*) AS parts, CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM files WHERE upload = ? AND state = 0 /* coming */";
    ATTACH = "UPDATE files SET upload = ?, expires_at = ? WHERE seq = ? AND state = 0 /* coming */";
    LIST = "SELECT seq, id, bytes FROM files WHERE upload = ? AND state = 0 /* coming */ ORDER BY seq";
}

/// Attaches a part to its upload, once for all calls with the key of the guard. A part that is not attached is to be discarded. `now` is in
/// milliseconds.
pub async fn attach(
    store: &Store,
    part: NewPart,
    guard: Option<Guard<PartRecord>>,
    now: i64,
) -> Result<Guarded<Attached>, StoreError> {
    let work = async move |tx: &mut Tx<'_>| attach_in(part, now, tx).await;
    do_guarded(store, part.account, guard, now, Attached::record, work).await
}

async fn attach_in(part: NewPart, now: i64, tx: &mut Tx<'_>) -> Result<Attached, StoreError> {
    let NewPart { record, file, account, bytes } = part;
    let Some(upload) = lock(account, record.upload, now, tx).await? else { return Ok(Attached::Gone) };
    if upload.record.status != UploadStatus::Pending {
        return Ok(Attached::Ended(upload.record.status));
    }
    let rows = tx.fetch(SUM.bind(upload.seq)).await?;
    let sum = rows.first().ok_or(StoreError::Damaged("a sum of parts"))?;
    if sum.get::<i64>("parts")? >= PARTS_MAX as i64 {
        return Ok(Attached::TooMany);
    }
    let bytes_max = upload.record.parts_bytes_max();
    if sum.get::<i64>("bytes")?.saturating_add(bytes) > bytes_max {
        return Ok(Attached::TooLong(bytes_max));
    }
    let attach = ATTACH.bind(upload.seq).bind(upload.record.expires_at).bind(file);
    Ok(if tx.execute(attach).await? > 0 { Attached::Attached(record) } else { Attached::Gone })
}

/// In the order in which they began to arrive; `upload` is a row number.
pub async fn list(store: &Store, upload: i64) -> Result<Vec<FoundPart>, StoreError> {
    let rows = store.readers().fetch_all(LIST.bind(upload)).await?;
    let part =
        |row: &Row| Ok(FoundPart { id: row.get("id")?, file: row.get("seq")?, bytes: row.get("bytes")? });
    rows.iter().map(part).collect()
}
