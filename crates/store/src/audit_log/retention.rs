//! Deleting entries whose retention is over.

use crate::database::{Tx, statements};
use crate::{Store, StoreError};

/// Entries per transaction.
const DELETED_MAX: u32 = 1_000;

statements! {
    DELETE_OLD = "DELETE FROM audit_log WHERE seq IN (
        SELECT seq FROM audit_log WHERE created_at < ? ORDER BY created_at, seq LIMIT ?)";
}

/// Deletes some entries created before a time in milliseconds; returns their number, 0 when none are left.
pub async fn delete_old(store: &Store, before: i64) -> Result<u64, StoreError> {
    let delete = DELETE_OLD.bind(before).bind(DELETED_MAX);
    store.transaction(async move |tx: &mut Tx<'_>| tx.execute(delete).await).await
}
