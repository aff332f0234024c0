//! Deleting entries whose retention is over.

use crate::store::database::{Tx, statements};
use crate::store::{Store, StoreError};

/// Entries that one transaction deletes at most.
const DELETED_MAX: u32 = 1_000;

statements! {
    DELETE_OLD = "DELETE FROM audit_log WHERE seq IN (
        SELECT seq FROM audit_log WHERE created_at < ? ORDER BY created_at, seq LIMIT ?)";
}

/// Deletes some of the entries from before a time in milliseconds; how many, and none once there are no more.
pub async fn delete_old(store: &Store, before: i64) -> Result<u64, StoreError> {
    let delete = DELETE_OLD.bind(before).bind(DELETED_MAX);
    store.transaction(async move |tx: &mut Tx<'_>| tx.execute(delete).await).await
}
