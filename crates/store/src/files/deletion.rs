//! Deleting files.

use overnight_domain::ids::FileId;
use overnight_domain::scheduler::AccountKey;

use super::coming::give_back;
use crate::database::{Row, Tx, statements};
use crate::{Store, StoreError};

/// Files per transaction.
const FILES_MAX: u32 = 64;

/// Pieces per transaction: a few MiB.
const PIECES_MAX: u32 = 16;

statements! {
    DELETE = "UPDATE files SET state = 2 /* deleted */ WHERE id = ? AND account = ? AND state = 1 /* ready */
        RETURNING account, bytes + coalesce(octet_length(faults), 0) AS bytes";
    DELETE_EXPIRED = "UPDATE files SET state = 2 /* deleted */ WHERE state < 2 /* coming, ready */ AND seq IN (
            SELECT seq FROM files WHERE expires_at <= ? AND expires_at IS NOT NULL AND state < 2 /* coming, ready */ ORDER BY expires_at LIMIT ?)
        RETURNING account, bytes + coalesce(octet_length(faults), 0) AS bytes";
    DELETE_OF_ACCOUNT = "UPDATE files SET state = 2 /* deleted */ WHERE state < 2 /* coming, ready */ AND seq IN (
            SELECT seq FROM files WHERE account = ? AND state < 2 /* coming, ready */ ORDER BY seq LIMIT ?)
        RETURNING account, bytes + coalesce(octet_length(faults), 0) AS bytes";
    /// A file from which a batch still takes lines is left out.
    FIND_DELETED = "SELECT seq FROM files f WHERE state = 2 /* deleted */
          AND NOT EXISTS (SELECT 1 FROM batch_inputs i WHERE i.file = f.seq AND i.state = 0 /* being filled */) ORDER BY seq LIMIT 1";
    DELETE_PIECES = "DELETE FROM file_pieces WHERE (file, place) IN (
        SELECT file, place FROM file_pieces WHERE file = ? ORDER BY place LIMIT ?)";
    DELETE_ROW = "DELETE FROM files WHERE seq = ? AND state = 2 /* deleted */";
}

/// Returns whether there was one.
pub async fn delete(store: &Store, account: AccountKey, id: FileId) -> Result<bool, StoreError> {
    let work = async move |tx: &mut Tx<'_>| {
        let deleted = deleted(&tx.fetch(DELETE.bind(id).bind(account)).await?)?;
        give_back(&deleted, tx).await?;
        Ok(!deleted.is_empty())
    };
    store.transaction_of(account, work).await
}

/// Deletes some of the files that expired by `now`, in milliseconds, or whose upload stopped; returns their number, 0 when none are left.
pub async fn delete_expired(store: &Store, now: i64) -> Result<usize, StoreError> {
    let work = async move |tx: &mut Tx<'_>| {
        let deleted = deleted(&tx.fetch(DELETE_EXPIRED.bind(now).bind(FILES_MAX)).await?)?;
        give_back(&deleted, tx).await?;
        Ok(deleted.len())
    };
    store.transaction(work).await
}

/// Deletes some of an account's files, incomplete ones included; returns their number, 0 when none are left.
pub async fn delete_of_account(store: &Store, account: AccountKey) -> Result<usize, StoreError> {
    let work = async move |tx: &mut Tx<'_>| {
        let deleted = deleted(&tx.fetch(DELETE_OF_ACCOUNT.bind(account).bind(FILES_MAX)).await?)?;
        give_back(&deleted, tx).await?;
        Ok(deleted.len())
    };
    store.transaction(work).await
}

/// Deletes some pieces of a deleted file, or the rest of it; returns whether there was such a file.
pub async fn delete_pieces(store: &Store) -> Result<bool, StoreError> {
    let work = async move |tx: &mut Tx<'_>| {
        let Some(file) = tx.fetch(FIND_DELETED.unbound()).await?.first().map(|row| row.get::<i64>("seq"))
        else {
            return Ok(false);
        };
        let file = file?;
        if tx.execute(DELETE_PIECES.bind(file).bind(PIECES_MAX)).await? < u64::from(PIECES_MAX) {
            tx.execute(DELETE_ROW.bind(file)).await?;
        }
        Ok(true)
    };
    store.transaction(work).await
}

/// The account and the bytes of each.
pub(super) fn deleted(rows: &[Row]) -> Result<Vec<(i64, i64)>, StoreError> {
    rows.iter().map(|row| Ok((row.get("account")?, row.get("bytes")?))).collect()
}
