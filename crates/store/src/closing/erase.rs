//! Erasing an account's data piece by piece: each piece is a transaction of bounded length that can be repeated.

use overnight_domain::ids::{BatchId, UserId};
use overnight_domain::scheduler::AccountKey;

use crate::database::{Tx, statements};
use crate::effects::LedgerDeltas;
use crate::identity::users;
use crate::ledger::totals::ROW_BYTES;
use crate::outbox::deletion::delete_events;
use crate::{Store, StoreError, encryption, files, key_retention, objects};

/// Rows per table and transaction.
const ROWS_MAX: u32 = 256;
const BATCHES_MAX: u32 = 64;

const ERASED_NAME: &str = "erased account";

statements! {
    LIST_BATCHES = "SELECT id FROM batches WHERE account = ? ORDER BY seq LIMIT ?";
    DELETE_UPLOADS = "DELETE FROM uploads WHERE seq IN (SELECT seq FROM uploads WHERE account = ? ORDER BY seq LIMIT ?) RETURNING account";
    DELETE_SPEND_BY_KEY = "DELETE FROM spend_by_key WHERE (account, day, model, api_key) IN (
        SELECT account, day, model, api_key FROM spend_by_key WHERE account = ? ORDER BY day, model, api_key LIMIT ?)";
    /// Events about the account; the rest went with their requests and batches.
    DELETE_EVENTS = "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE account = ? ORDER BY seq LIMIT ?) RETURNING seq";
    /// Removes personal data from log entries about the account.
    FORGET_ENTRIES = "UPDATE audit_log SET details = NULL, actor_name = CASE WHEN is_operator = 1 THEN actor_name END,
               address = CASE WHEN is_operator = 1 THEN address END, target_id = CASE WHEN target_type <> 'invitation' THEN target_id END
        WHERE seq IN (SELECT seq FROM audit_log WHERE account = ?
            AND (details IS NOT NULL OR target_type = 'invitation' AND target_id IS NOT NULL
                 OR is_operator = 0 AND (actor_name IS NOT NULL OR address IS NOT NULL)) LIMIT ?)
        RETURNING seq";
    /// Removes personal data from entries by a user who belonged to no other account.
    FORGET_USER = "UPDATE audit_log SET details = NULL, actor_name = NULL, address = NULL WHERE actor_id = ?";
    DELETE_API_KEYS = "DELETE FROM api_keys WHERE account = ?";
    DELETE_SECRETS = "DELETE FROM webhook_secrets WHERE account = ?";
    DELETE_INVITATIONS = "DELETE FROM invitations WHERE account = ?";
    /// Members of no other account who are not operators.
    LIST_ONLY_HERE = "SELECT u.id FROM members m JOIN users u ON u.seq = m.user_seq
        WHERE m.account = ? AND u.is_operator = 0
          AND NOT EXISTS (SELECT 1 FROM members o WHERE o.user_seq = m.user_seq AND o.account <> m.account)";
    DELETE_MEMBERS = "DELETE FROM members WHERE account = ?";
    FIND_STORED = "SELECT stored_bytes FROM accounts WHERE seq = ?";
    SET_ERASED = "UPDATE accounts SET name = ?, erased_at = ?, retention_ms = NULL, low_credits_threshold = NULL, low_credits_webhook = NULL,
               low_credits_notified = NULL
        WHERE seq = ? AND erased_at IS NULL AND stored_bytes = 0";
}

pub async fn list_batches(store: &Store, account: AccountKey) -> Result<Vec<BatchId>, StoreError> {
    let rows = store.readers().fetch_all(LIST_BATCHES.bind(account).bind(BATCHES_MAX)).await?;
    rows.iter().map(|row| row.get("id")).collect()
}

/// Deletes some of an account's files, uploads, answers to repeated calls, spend by API key and events; returns whether there may be more.
pub async fn delete_content(store: &Store, account: AccountKey) -> Result<bool, StoreError> {
    if files::delete_of_account(store, account).await? > 0 {
        return Ok(true);
    }
    let work = async move |tx: &mut Tx<'_>| {
        let uploads = tx.fetch(DELETE_UPLOADS.bind(account).bind(ROWS_MAX)).await?;
        let mut ledger = LedgerDeltas::default();
        let keys = key_retention::delete_of_account(account, ROWS_MAX, &mut ledger, tx).await?;
        let spent = tx.execute(DELETE_SPEND_BY_KEY.bind(account).bind(ROWS_MAX)).await?;
        let events = tx.fetch(DELETE_EVENTS.bind(account).bind(ROWS_MAX)).await?;
        delete_events(&events, tx).await?;
        let entries = tx.fetch(FORGET_ENTRIES.bind(account).bind(ROWS_MAX)).await?;
        ledger.store_bytes(account.0, -ROW_BYTES * uploads.len() as i64);
        ledger.write(tx).await?;
        let longest = uploads
            .len()
            .max(events.len())
            .max(entries.len())
            .max(keys)
            .max(usize::try_from(spent).unwrap_or(usize::MAX));
        Ok(longest >= ROWS_MAX as usize)
    };
    store.transaction(work).await
}

/// Deletes an account's members, invitations, keys and secrets, and users who belong to no other account, with their sessions.
pub async fn erase_identity(store: &Store, account: AccountKey, now: i64) -> Result<(), StoreError> {
    let only_here = store.readers().fetch_all(LIST_ONLY_HERE.bind(account)).await?;
    for row in only_here {
        let user: UserId = row.get("id")?;
        users::remove(store, user, now).await?;
        let forget = FORGET_USER.bind(user.to_string());
        store.transaction(async move |tx| tx.execute(forget).await).await?;
    }
    let work = async move |tx: &mut Tx<'_>| {
        for statement in [&DELETE_INVITATIONS, &DELETE_MEMBERS, &DELETE_API_KEYS, &DELETE_SECRETS] {
            tx.execute(statement.bind(account)).await?;
        }
        Ok(())
    };
    store.transaction(work).await
}

/// Deletes the objects of an otherwise empty account, destroys its key, removes its name, and notes the erasure; `false` if something is
/// still stored for it.
pub async fn mark_erased(store: &Store, account: AccountKey, now: i64) -> Result<bool, StoreError> {
    let row = store.readers().fetch_one(FIND_STORED.bind(account)).await?;
    if row.get::<i64>("stored_bytes")? > 0 {
        return Ok(false);
    }
    if !objects::sweep::erase(store, account, now).await? {
        return Ok(false);
    }
    encryption::destroy(store, account).await?;
    let set = SET_ERASED.bind(ERASED_NAME).bind(now).bind(account);
    store.transaction(async move |tx| Ok(tx.execute(set).await? > 0)).await
}
