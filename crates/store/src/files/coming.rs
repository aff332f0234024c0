//! Storing a file while it is uploaded.

use std::collections::BTreeMap;

use bytes::Bytes;
use overnight_base::encryption::{KeyringError, unencrypted};
use overnight_domain::files::{BatchEndpoint, FileRecord};
use overnight_domain::ids::FileId;
use overnight_domain::money::Credits;
use overnight_domain::quotas::{QuotaExceeded, Quotas};
use overnight_domain::scheduler::AccountKey;

use crate::database::{Tx, statements};
use crate::effects::{Accounts, LedgerDeltas};
use crate::files::guarded::do_guarded;
use crate::idempotency_keys::{Guard, Guarded};
use crate::ledger::totals::ROW_BYTES;
use crate::{Store, StoreError};

/// A file whose upload begins. Times are in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct NewFile {
    pub id: FileId,
    pub account: AccountKey,
    pub created_at: i64,
    /// When it is given up unless more arrives.
    pub lasts_until: i64,
}

/// A complete file. Times are in milliseconds.
#[derive(Debug, Clone)]
pub struct FinishedFile {
    pub id: FileId,
    pub seq: i64,
    pub account: AccountKey,
    pub created_at: i64,
    /// When it is deleted, if ever.
    pub expires_at: Option<i64>,
    pub bytes: i64,
    pub name: String,
    /// `None` if it holds no lines.
    pub endpoint: Option<BatchEndpoint>,
    pub lines: i64,
    pub hold: Credits,
    pub fault_count: i64,
    /// The first faults, a JSON array.
    pub faults: Option<Bytes>,
}

impl FinishedFile {
    pub fn record(&self) -> FileRecord {
        FileRecord {
            id: self.id,
            created_at: self.created_at,
            expires_at: self.expires_at,
            bytes: self.bytes,
            name: self.name.clone(),
            endpoint: self.endpoint,
            lines: self.lines,
            fault_count: self.fault_count,
            faults: self.faults.clone(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    Stored,
    OverQuota(QuotaExceeded),
    Gone,
}

statements! {
    INSERT = "INSERT INTO files (id, account, state, created_at, expires_at, bytes, name, lines, hold, fault_count)
        VALUES (?, ?, 0, ?, ?, 0, '', 0, 0, 0) RETURNING seq";
    GROW = "UPDATE files SET bytes = bytes + ?, expires_at = ? WHERE seq = ? AND state = 0 /* coming */";
    INSERT_PIECE = "INSERT INTO file_pieces (file, place, content, bytes) VALUES (?, ?, ?, ?)";
    FINISH = "UPDATE files SET state = 1 /* ready */, expires_at = ?, name = ?, endpoint = ?, lines = ?, hold = ?, fault_count = ?, faults = ?
        WHERE seq = ? AND state = 0 /* coming */";
    DISCARD = "UPDATE files SET state = 2 /* deleted */ WHERE seq = ? AND state = 0 /* coming */ RETURNING bytes";
}

/// Returns its row number. Inner error: the account's quota of stored bytes.
pub async fn begin(store: &Store, file: NewFile) -> Result<Result<i64, QuotaExceeded>, StoreError> {
    let quotas = store.quotas();
    let NewFile { id, account, created_at, lasts_until } = file;
    let insert = INSERT.bind(id).bind(account).bind(created_at).bind(lasts_until);
    let work = async move |tx: &mut Tx<'_>| {
        let rows = tx.fetch(insert).await?;
        let seq = rows.first().ok_or(StoreError::Damaged("an inserted file"))?.get("seq")?;
        let taken = take_bytes(account, ROW_BYTES, created_at, &quotas, tx).await?;
        if taken.is_err() {
            tx.undo();
        }
        Ok(taken.map(|()| seq))
    };
    store.transaction_of(account, work).await
}

/// Stores the next piece. `now` and `lasts_until` are in milliseconds.
pub async fn append(
    store: &Store,
    (account, file): (AccountKey, i64),
    place: i64,
    content: Bytes,
    (now, lasts_until): (i64, i64),
) -> Result<Appended, StoreError> {
    store.check_room(content.len())?;
    let quotas = store.quotas();
    let bytes = content.len() as i64;
    let stored = match store.data_key(account).await? {
        Some(key) => key.encrypt(&content).ok_or(KeyringError::NoRandom)?,
        None => unencrypted(content),
    };
    let longer = Some(bytes).filter(|bytes| *bytes != stored.len() as i64);
    let work = async move |tx: &mut Tx<'_>| {
        if tx.execute(GROW.bind(bytes).bind(lasts_until).bind(file)).await? == 0 {
            return Ok(Appended::Gone);
        }
        tx.execute(INSERT_PIECE.bind(file).bind(place).bind(stored).bind(longer)).await?;
        Ok(match take_bytes(account, bytes, now, &quotas, tx).await? {
            Ok(()) => Appended::Stored,
            Err(exceeded) => {
                tx.undo();
                Appended::OverQuota(exceeded)
            }
        })
    };
    store.transaction_of(account, work).await
}

/// Completes a file, once for all calls with the key of the guard. `None` if it was given up; the file of a repeat is to be discarded.
/// `now` is in milliseconds.
pub async fn finish(
    store: &Store,
    file: FinishedFile,
    guard: Option<Guard<FileRecord>>,
    now: i64,
) -> Result<Guarded<Option<FileRecord>>, StoreError> {
    let account = file.account;
    let work = async move |tx: &mut Tx<'_>| finish_in(&file, tx).await;
    do_guarded(store, account, guard, now, Option::as_ref, work).await
}

pub(super) async fn finish_in(
    file: &FinishedFile,
    tx: &mut Tx<'_>,
) -> Result<Option<FileRecord>, StoreError> {
    let finish = FINISH
        .bind(file.expires_at)
        .bind(file.name.as_str())
        .bind(file.endpoint.map(|endpoint| endpoint.as_str().to_owned()))
        .bind(file.lines)
        .bind(file.hold.nanos())
        .bind(file.fault_count)
        .bind(file.faults.clone())
        .bind(file.seq);
    if tx.execute(finish).await? == 0 {
        return Ok(None);
    }
    let mut ledger = LedgerDeltas::default();
    ledger.store_bytes(file.account.0, file.faults.as_ref().map_or(0, Bytes::len) as i64);
    ledger.write(tx).await?;
    Ok(Some(file.record()))
}

pub async fn discard(store: &Store, account: AccountKey, file: i64) -> Result<(), StoreError> {
    let work = async move |tx: &mut Tx<'_>| {
        for row in tx.fetch(DISCARD.bind(file)).await? {
            give_back(&[(account.0, row.get("bytes")?)], tx).await?;
        }
        Ok(())
    };
    store.transaction_of(account, work).await
}

/// Counts bytes as stored for an account that is not suspended. The inner error is the quota.
pub(super) async fn take_bytes(
    AccountKey(account): AccountKey,
    bytes: i64,
    now: i64,
    quotas: &Quotas,
    tx: &mut Tx<'_>,
) -> Result<Result<(), QuotaExceeded>, StoreError> {
    let mut ledger = LedgerDeltas::default();
    let mut accounts = Accounts::lock(&BTreeMap::from([(account, now)]), quotas, &mut ledger, tx).await?;
    if accounts.is_suspended(account)? {
        return Err(StoreError::AccountSuspended);
    }
    let taken = accounts.admit_bytes(account, bytes, now)?;
    if taken.is_ok() {
        ledger.store_bytes(account, bytes);
        ledger.write(tx).await?;
    }
    Ok(taken)
}

/// Subtracts the bytes of files from their accounts.
pub(super) async fn give_back(files: &[(i64, i64)], tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let mut ledger = LedgerDeltas::default();
    for (account, bytes) in files {
        ledger.store_bytes(*account, -(ROW_BYTES + bytes));
    }
    ledger.write(tx).await
}
