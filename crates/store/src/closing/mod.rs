//! Closing an account for good, and erasing its data. The mark is first: its keys stop working and its members no longer see it. Its live
//! requests follow in chunks; on request, then its data, piece by piece, its name last. After a crash the mark is found and the pieces
//! continue. Ledger entries stay, as does spend by day and model; spend by API key is deleted with the keys.

pub(crate) mod erase;
pub(crate) mod live;

pub use self::erase::{delete_content, erase_identity, list_batches, mark_erased};
pub use self::live::{cancel_chunk, list_unfinished_batches};

use overnight_domain::audit_log::AuditAction;
use overnight_domain::scheduler::AccountKey;

use crate::audit_log::{self, Change};
use crate::database::{Tx, statements};
use crate::idempotency_keys::{Guarded, Once, do_once};
use crate::{Store, StoreError};

statements! {
    /// Repeats have no effect. A closed account is also suspended.
    CLOSE = "UPDATE accounts SET closed_at = ?, suspended_at = coalesce(suspended_at, ?) WHERE seq = ? AND closed_at IS NULL";
    REVOKE_KEYS = "UPDATE api_keys SET revoked_at = ? WHERE account = ? AND revoked_at IS NULL";
    DELETE_INVITATIONS = "DELETE FROM invitations WHERE account = ?";
    MARK = "UPDATE accounts SET erase_at = ? WHERE seq = ? AND closed_at IS NOT NULL AND erase_at IS NULL";
    /// Closed accounts with live work.
    LIST_LIVING = "SELECT seq FROM accounts a WHERE closed_at IS NOT NULL AND erased_at IS NULL
          AND (live_requests > 0 OR EXISTS (SELECT 1 FROM batch_inputs i WHERE i.account = a.seq AND i.state = 0 /* being filled */))
        ORDER BY seq";
    LIST_TO_ERASE = "SELECT seq FROM accounts a WHERE closed_at IS NOT NULL AND erased_at IS NULL AND erase_at IS NOT NULL
          AND live_requests = 0 AND NOT EXISTS (SELECT 1 FROM batch_inputs i WHERE i.account = a.seq AND i.state = 0 /* being filled */)
        ORDER BY seq";
}

/// Closes an account for good: its keys are revoked, its invitations void, and its members no longer see it, in this process immediately
/// and in others within a second. Repeats have no effect.
pub async fn close(
    store: &Store,
    account: AccountKey,
    now: i64,
    once: Option<Once>,
) -> Result<Guarded<()>, StoreError> {
    let close = async move |tx: &mut Tx<'_>| {
        if tx.execute(CLOSE.bind(now).bind(now).bind(account)).await? > 0 {
            audit_log::note_in(Change::of_account(AuditAction::AccountClose, account, now), tx).await?;
        }
        tx.execute(REVOKE_KEYS.bind(now).bind(account)).await?;
        tx.execute(DELETE_INVITATIONS.bind(account)).await.map(drop)
    };
    do_once(store, account, once, now, close).await
}

/// Marks a closed account for erasure. Repeats have no effect.
pub async fn ask_to_erase(
    store: &Store,
    account: AccountKey,
    now: i64,
    once: Option<Once>,
) -> Result<Guarded<()>, StoreError> {
    let mark = async move |tx: &mut Tx<'_>| {
        if tx.execute(MARK.bind(now).bind(account)).await? > 0 {
            audit_log::note_in(Change::of_account(AuditAction::AccountErase, account, now), tx).await?;
        }
        Ok(())
    };
    do_once(store, account, once, now, mark).await
}

/// Closed accounts with live work.
pub async fn list_living(store: &Store) -> Result<Vec<AccountKey>, StoreError> {
    let rows = store.readers().fetch_all(LIST_LIVING.unbound()).await?;
    rows.iter().map(|row| row.get("seq").map(AccountKey)).collect()
}

/// Accounts to erase that have no live work.
pub async fn list_to_erase(store: &Store) -> Result<Vec<AccountKey>, StoreError> {
    let rows = store.readers().fetch_all(LIST_TO_ERASE.unbound()).await?;
    rows.iter().map(|row| row.get("seq").map(AccountKey)).collect()
}
