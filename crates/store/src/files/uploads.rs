//! Uploads in parts: begun, found, forgotten.

use overnight_domain::ids::{FileId, UploadId};
use overnight_domain::quotas::QuotaExceeded;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::uploads::{PENDING_UPLOADS_MAX, UploadRecord, UploadStatus};

use super::coming::take_bytes;
use crate::database::{Row, Tx, statements};
use crate::effects::LedgerDeltas;
use crate::files::guarded::do_guarded;
use crate::idempotency_keys::{Guard, Guarded};
use crate::ledger::totals::ROW_BYTES;
use crate::{Store, StoreError};

/// Uploads per transaction.
const FORGOTTEN_MAX: u32 = 256;

/// Its record is pending.
#[derive(Debug, Clone)]
pub struct NewUpload {
    pub record: UploadRecord,
    pub account: AccountKey,
    /// After its creation; `None` for good.
    pub file_lasts_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    Begun(UploadRecord),
    /// The account has the maximum number of pending ones.
    TooMany,
    OverQuota(QuotaExceeded),
}

impl Begun {
    const fn record(&self) -> Option<&UploadRecord> {
        match self {
            Self::Begun(record) => Some(record),
            Self::TooMany | Self::OverQuota(_) => None,
        }
    }
}

/// An upload with fields that only the service knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundUpload {
    pub seq: i64,
    /// After its creation; `None` for good.
    pub file_lasts_ms: Option<i64>,
    pub file: Option<FileId>,
    /// The SHA-256 of what it was completed with.
    pub digest: Option<Vec<u8>>,
    /// Without its file.
    pub record: UploadRecord,
}

statements! {
    COUNT_PENDING = "SELECT count(*) AS uploads FROM uploads WHERE account = ? AND state = 0 /* pending */ AND expires_at > ?";
    INSERT = "INSERT INTO uploads (id, account, state, created_at, expires_at, bytes, name, file_lasts_ms) VALUES (?, ?, 0, ?, ?, ?, ?, ?)";
    FIND = "SELECT seq, id, state, created_at, expires_at, bytes, name, file_lasts_ms, file, digest FROM uploads WHERE id = ? AND account = ?";
    /// A change of an upload or its parts locks its row before those of files and accounts.
    LOCK = {
        sqlite: "SELECT seq, id, state, created_at, expires_at, bytes, name, file_lasts_ms, file, digest FROM uploads WHERE id = ? AND account = ?",
        postgres: "SELECT seq, id, state, created_at, expires_at, bytes, name, file_lasts_ms, file, digest FROM uploads WHERE id = $1 AND account = $2 FOR UPDATE",
    };
    FORGET = "DELETE FROM uploads WHERE seq IN (SELECT seq FROM uploads WHERE created_at <= ? ORDER BY created_at LIMIT ?) RETURNING account";
}

/// Once for all calls with the key of the guard.
pub async fn create(
    store: &Store,
    upload: NewUpload,
    guard: Option<Guard<UploadRecord>>,
) -> Result<Guarded<Begun>, StoreError> {
    let quotas = store.quotas();
    let (account, now) = (upload.account, upload.record.created_at);
    let work = async move |tx: &mut Tx<'_>| {
        let pending = tx.fetch(COUNT_PENDING.bind(account).bind(now)).await?;
        let pending: i64 = pending.first().ok_or(StoreError::Damaged("a count"))?.get("uploads")?;
        if pending >= PENDING_UPLOADS_MAX as i64 {
            return Ok(Begun::TooMany);
        }
        if let Err(exceeded) = take_bytes(account, ROW_BYTES, now, &quotas, tx).await? {
            return Ok(Begun::OverQuota(exceeded));
        }
        insert(&upload, tx).await?;
        Ok(Begun::Begun(upload.record))
    };
    do_guarded(store, account, guard, now, Begun::record, work).await
}

async fn insert(
    NewUpload { record, account, file_lasts_ms }: &NewUpload,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    let insert = INSERT
        .bind(record.id)
        .bind(*account)
        .bind(record.created_at)
        .bind(record.expires_at)
        .bind(record.bytes)
        .bind(record.name.as_str())
        .bind(*file_lasts_ms);
    tx.execute(insert).await.map(|_| ())
}

/// As it is at `now`, in milliseconds.
pub async fn find_upload(
    store: &Store,
    account: AccountKey,
    id: UploadId,
    now: i64,
) -> Result<Option<FoundUpload>, StoreError> {
    let row = store.readers().fetch_optional(FIND.bind(id).bind(account)).await?;
    row.map(|row| read(&row, now)).transpose()
}

/// Locks it and its parts until the transaction ends.
pub(super) async fn lock(
    account: AccountKey,
    id: UploadId,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<Option<FoundUpload>, StoreError> {
    tx.fetch(LOCK.bind(id).bind(account)).await?.first().map(|row| read(row, now)).transpose()
}

/// Deletes some uploads that began before a time in milliseconds; returns their number, 0 when none are left.
pub async fn forget_old(store: &Store, before: i64) -> Result<usize, StoreError> {
    let work = async move |tx: &mut Tx<'_>| {
        let rows = tx.fetch(FORGET.bind(before).bind(FORGOTTEN_MAX)).await?;
        let mut ledger = LedgerDeltas::default();
        for row in &rows {
            ledger.store_bytes(row.get("account")?, -ROW_BYTES);
        }
        ledger.write(tx).await?;
        Ok(rows.len())
    };
    store.transaction(work).await
}

fn read(row: &Row, now: i64) -> Result<FoundUpload, StoreError> {
    let expires_at: i64 = row.get("expires_at")?;
    let status = match row.get::<i64>("state")? {
        0 if now >= expires_at => UploadStatus::Expired,
        0 => UploadStatus::Pending,
        1 => UploadStatus::Completed,
        2 => UploadStatus::Cancelled,
        _ => return Err(StoreError::DamagedColumn("state")),
    };
    let record = UploadRecord {
        id: row.get("id")?,
        created_at: row.get("created_at")?,
        expires_at,
        bytes: row.get("bytes")?,
        name: row.get("name")?,
        status,
        file: None,
    };
    Ok(FoundUpload {
        seq: row.get("seq")?,
        file_lasts_ms: row.get("file_lasts_ms")?,
        file: row.get("file")?,
        digest: row.get("digest")?,
        record,
    })
}
