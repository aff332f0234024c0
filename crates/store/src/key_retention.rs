//! Deleting idempotency keys, whose bytes go back to their accounts.

use overnight_domain::scheduler::AccountKey;

use crate::database::{Row, Tx, statements};
use crate::effects::LedgerDeltas;
use crate::{Store, StoreError};

/// Keys per transaction.
const DELETED_MAX: u32 = 1_000;

statements! {
    DELETE_OLD = "DELETE FROM idempotency_keys WHERE (account, key) IN (
        SELECT account, key FROM idempotency_keys WHERE created_at < ? ORDER BY created_at LIMIT ?) RETURNING account, bytes";
    DELETE_OF_ACCOUNT = "DELETE FROM idempotency_keys WHERE (account, key) IN (
        SELECT account, key FROM idempotency_keys WHERE account = ? ORDER BY key LIMIT ?) RETURNING account, bytes";
}

/// Deletes some keys used before a time in milliseconds; returns their number, 0 when none are left.
pub async fn delete_old_keys(store: &Store, before: i64) -> Result<usize, StoreError> {
    let delete = DELETE_OLD.bind(before).bind(DELETED_MAX);
    let work = async move |tx: &mut Tx<'_>| {
        let mut ledger = LedgerDeltas::default();
        let deleted = count_deleted(&tx.fetch(delete).await?, &mut ledger)?;
        ledger.write(tx).await.map(|()| deleted)
    };
    store.transaction(work).await
}

/// Deletes up to `limit` keys of an account; returns their number.
pub(crate) async fn delete_of_account(
    account: AccountKey,
    limit: u32,
    ledger: &mut LedgerDeltas,
    tx: &mut Tx<'_>,
) -> Result<usize, StoreError> {
    count_deleted(&tx.fetch(DELETE_OF_ACCOUNT.bind(account).bind(limit)).await?, ledger)
}

fn count_deleted(deleted: &[Row], ledger: &mut LedgerDeltas) -> Result<usize, StoreError> {
    for row in deleted {
        ledger.store_bytes(row.get("account")?, -row.get::<Option<i64>>("bytes")?.unwrap_or(0));
    }
    Ok(deleted.len())
}
