//! Closing an account for good, and erasing what it had: the mark first, from which moment its keys open nothing and its members do not
//! see it, then its live requests in chunks; and, where that is asked for, all that it had, piece by piece, its name last. After a
//! crash the mark is found and the pieces go on. The entries of its ledger stay, with what it spent by day and model.

pub(in crate::store) mod erase;
pub(in crate::store) mod live;

pub use self::erase::{delete_content, erase_identity, list_batches, mark_erased};
pub use self::live::{cancel_chunk, list_unfinished_batches};

use overnight_domain::audit_log::AuditAction;
use overnight_domain::ids::AccountId;
use overnight_domain::scheduler::AccountKey;

use crate::store::audit_log::{self, Change};
use crate::store::database::{Tx, statements};
use crate::store::identity::accounts::{self, Account};
use crate::store::{Store, StoreError};

statements! {
    /// A second time keeps the first time. What is closed is suspended, too.
    CLOSE = "UPDATE accounts SET closed_at = coalesce(closed_at, ?), suspended_at = coalesce(suspended_at, ?) WHERE id = ?
        RETURNING seq, id, name, created_at, balance, held, payments_activated_at, suspended_at, closed_at, erase_at, erased_at, retention_ms, monthly_credits, live_requests, stored_bytes,
               live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota";
    REVOKE_KEYS = "UPDATE api_keys SET revoked_at = ? WHERE account = ? AND revoked_at IS NULL";
    DELETE_INVITATIONS = "DELETE FROM invitations WHERE account = ?";
    MARK = "UPDATE accounts SET erase_at = coalesce(erase_at, ?) WHERE id = ? AND closed_at IS NOT NULL
        RETURNING seq, id, name, created_at, balance, held, payments_activated_at, suspended_at, closed_at, erase_at, erased_at, retention_ms, monthly_credits, live_requests, stored_bytes,
               live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota";
    /// Those of which something lives.
    LIST_LIVING = "SELECT seq FROM accounts a WHERE closed_at IS NOT NULL AND erased_at IS NULL
          AND (live_requests > 0 OR EXISTS (SELECT 1 FROM batch_inputs i WHERE i.account = a.seq AND i.state = 0 /* being filled */))
        ORDER BY seq";
    LIST_TO_ERASE = "SELECT seq FROM accounts a WHERE closed_at IS NOT NULL AND erased_at IS NULL AND erase_at IS NOT NULL
          AND live_requests = 0 AND NOT EXISTS (SELECT 1 FROM batch_inputs i WHERE i.account = a.seq AND i.state = 0 /* being filled */)
        ORDER BY seq";
}

/// Closes an account for good: its keys are revoked, its invitations void, and its members do not see it any more, in this process at once
/// and in every other within a second. `None` where there is none. A second time keeps the first time.
pub async fn close(store: &Store, id: AccountId, now: i64) -> Result<Option<Account>, StoreError> {
    let close = async move |tx: &mut Tx<'_>| {
        let closed = tx.fetch(CLOSE.bind(now).bind(now).bind(id)).await?;
        let Some(account) = closed.first().map(accounts::read).transpose()? else { return Ok(None) };
        if account.closed_at == Some(now) {
            audit_log::note_in(Change::of_account(AuditAction::AccountClose, account.key, now), tx).await?;
        }
        tx.execute(REVOKE_KEYS.bind(now).bind(account.key)).await?;
        tx.execute(DELETE_INVITATIONS.bind(account.key)).await?;
        Ok(Some(account))
    };
    store.transaction(close).await
}

/// Has an account that is closed erased; `None` where there is none, or it is not closed. A second time keeps the first time.
pub async fn ask_to_erase(store: &Store, id: AccountId, now: i64) -> Result<Option<Account>, StoreError> {
    let mark = async move |tx: &mut Tx<'_>| {
        let marked = tx.fetch(MARK.bind(now).bind(id)).await?;
        let Some(account) = marked.first().map(accounts::read).transpose()? else { return Ok(None) };
        if account.erase_at == Some(now) {
            audit_log::note_in(Change::of_account(AuditAction::AccountErase, account.key, now), tx).await?;
        }
        Ok(Some(account))
    };
    store.transaction(mark).await
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
