//! Closing an account for good, and erasing what it had: the mark first, from which moment its keys open nothing and its members do not
//! see it, then its live requests in chunks; and, where that is asked for, all that it had, piece by piece, its name last. After a
//! crash the mark is found and the pieces go on. The entries of its ledger stay, with what it spent by day and model; what it spent by API key goes with the keys.

pub(in crate::store) mod erase;
pub(in crate::store) mod live;

pub use self::erase::{delete_content, erase_identity, list_batches, mark_erased};
pub use self::live::{cancel_chunk, list_unfinished_batches};

use overnight_domain::audit_log::AuditAction;
use overnight_domain::scheduler::AccountKey;

use crate::store::audit_log::{self, Change};
use crate::store::database::{Tx, statements};
use crate::store::idempotency_keys::{Guarded, Once, do_once};
use crate::store::{Store, StoreError};

statements! {
    /// A second time changes nothing. What is closed is suspended, too.
    CLOSE = "UPDATE accounts SET closed_at = ?, suspended_at = coalesce(suspended_at, ?) WHERE seq = ? AND closed_at IS NULL";
    REVOKE_KEYS = "UPDATE api_keys SET revoked_at = ? WHERE account = ? AND revoked_at IS NULL";
    DELETE_INVITATIONS = "DELETE FROM invitations WHERE account = ?";
    MARK = "UPDATE accounts SET erase_at = ? WHERE seq = ? AND closed_at IS NOT NULL AND erase_at IS NULL";
    /// Those of which something lives.
    LIST_LIVING = "SELECT seq FROM accounts a WHERE closed_at IS NOT NULL AND erased_at IS NULL
          AND (live_requests > 0 OR EXISTS (SELECT 1 FROM batch_inputs i WHERE i.account = a.seq AND i.state = 0 /* being filled */))
        ORDER BY seq";
    LIST_TO_ERASE = "SELECT seq FROM accounts a WHERE closed_at IS NOT NULL AND erased_at IS NULL AND erase_at IS NOT NULL
          AND live_requests = 0 AND NOT EXISTS (SELECT 1 FROM batch_inputs i WHERE i.account = a.seq AND i.state = 0 /* being filled */)
        ORDER BY seq";
}

/// Closes an account for good: its keys are revoked, its invitations void, and its members do not see it any more, in this process at once
/// and in every other within a second. A second time changes nothing.
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

/// Has an account that is closed erased. A second time changes nothing.
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

/// The accounts that are closed and of which something lives.
pub async fn list_living(store: &Store) -> Result<Vec<AccountKey>, StoreError> {
    let rows = store.readers().fetch_all(LIST_LIVING.unbound()).await?;
    rows.iter().map(|row| row.get("seq").map(AccountKey)).collect()
}

/// The accounts that are to be erased and of which nothing lives.
pub async fn list_to_erase(store: &Store) -> Result<Vec<AccountKey>, StoreError> {
    let rows = store.readers().fetch_all(LIST_TO_ERASE.unbound()).await?;
    rows.iter().map(|row| row.get("seq").map(AccountKey)).collect()
}
