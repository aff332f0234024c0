//! Invitations: links that make somebody a member of an account once.

use overnight_domain::audit_log::AuditAction;
use overnight_domain::roles::Role;
use overnight_domain::scheduler::AccountKey;
use serde_json::json;

use crate::audit_log::{self, Change};
use crate::database::{ActorId, Row, Tx, statements};
use crate::identity::accounts::{self, Account};
use crate::identity::members::{self, read_role, role_code};
use crate::identity::withdrawals;
use crate::ledger::totals;
use crate::{Store, StoreError};

/// Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// In lower case.
    pub email: String,
    pub role: Role,
    pub expires_at: i64,
}

statements! {
    DELETE_ENDED = "DELETE FROM invitations WHERE expires_at <= ?";
    INSERT = "INSERT INTO invitations (account, email, sha256, role, created_at, expires_at, invited_by)
        SELECT ?, ?, ?, ?, ?, ?, CAST(? AS BIGINT) WHERE (SELECT count(*) FROM invitations WHERE account = ?) < ?
        ON CONFLICT (account, email) DO UPDATE SET sha256 = excluded.sha256, role = excluded.role,
            created_at = excluded.created_at, expires_at = excluded.expires_at, invited_by = excluded.invited_by";
    LIST = "SELECT email, role, expires_at FROM invitations WHERE account = ? AND expires_at > ? ORDER BY email";
    DELETE = "DELETE FROM invitations WHERE account = ? AND email = ?";
    FIND = "SELECT i.email, i.role, i.expires_at, a.seq, a.id, a.name, a.created_at, a.balance, a.held, a.payments_activated_at, a.suspended_at, a.closed_at, a.erase_at, a.erased_at, a.retention_ms, a.monthly_credits, a.low_credits_threshold, a.low_credits_webhook, a.live_requests, a.stored_bytes,
               a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota
        FROM invitations i JOIN accounts a ON a.seq = i.account WHERE i.sha256 = ? AND i.expires_at > ?";
    USE = "DELETE FROM invitations WHERE sha256 = ? AND expires_at > ? RETURNING account, role";
    IS_INVITED = "SELECT 1 AS one FROM invitations WHERE email = ? AND expires_at > ? LIMIT 1";
    USE_ALL = "DELETE FROM invitations WHERE email = ? RETURNING account, role, expires_at";
}

/// Stores an invitation of the user who acts, in place of an earlier one for the same address; `false` if `most` are pending already.
/// Invitations that ended by `now` are deleted.
pub async fn insert(
    store: &Store,
    account: AccountKey,
    invitation: &Invitation,
    sha256: &[u8; 32],
    now: i64,
    most: i64,
) -> Result<bool, StoreError> {
    let insert = INSERT
        .bind(account)
        .bind(invitation.email.as_str())
        .bind(*sha256)
        .bind(role_code(invitation.role))
        .bind(now)
        .bind(invitation.expires_at);
    let change =
        Change::of_account(AuditAction::InvitationCreate, account, now).to("invitation", &invitation.email);
    let change = change.with(json!({"role": invitation.role.as_str()}));
    let invite = async move |tx: &mut Tx<'_>| {
        totals::lock_open(account, tx).await?;
        tx.execute(DELETE_ENDED.bind(now)).await?;
        let inviter = match tx.actor().id {
            ActorId::User(user) => Some(user),
            ActorId::Service | ActorId::Operator(_) | ActorId::ApiKey(_) => None,
        };
        if tx.execute(insert.bind(inviter).bind(account).bind(most)).await? == 0 {
            return Ok(false);
        }
        audit_log::note_in(change, tx).await.map(|()| true)
    };
    store.transaction_of(account, invite).await
}

/// Those that work at `now`, ordered by e-mail address.
pub async fn list(store: &Store, account: AccountKey, now: i64) -> Result<Vec<Invitation>, StoreError> {
    store.readers().fetch_all(LIST.bind(account).bind(now)).await?.iter().map(read).collect()
}

pub async fn remove(store: &Store, account: AccountKey, email: &str, now: i64) -> Result<(), StoreError> {
    let delete = DELETE.bind(account).bind(email);
    let email = email.to_owned();
    let withdraw = async move |tx: &mut Tx<'_>| match tx.execute(delete).await? {
        0 => Ok(()),
        _ => withdrawals::note_in(account, &email, now, tx).await,
    };
    store.transaction_of(account, withdraw).await
}

/// The account and invitation of a link that works at `now`.
pub async fn find(
    store: &Store,
    sha256: &[u8; 32],
    now: i64,
) -> Result<Option<(Account, Invitation)>, StoreError> {
    let row = store.readers().fetch_optional(FIND.bind(*sha256).bind(now)).await?;
    row.map(|row| Ok((accounts::read(&row)?, read(&row)?))).transpose()
}

/// Makes a user a member, and uses up the invitation; `false` if it no longer works. An existing member keeps the role.
pub async fn accept(store: &Store, sha256: &[u8; 32], user: i64, now: i64) -> Result<bool, StoreError> {
    let sha256 = *sha256;
    store.transaction(async move |tx| accept_in(&sha256, user, now, tx).await).await
}

/// Changes no row if it returns `false`.
pub(crate) async fn accept_in(
    sha256: &[u8; 32],
    user: i64,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<bool, StoreError> {
    let rows = tx.fetch(USE.bind(*sha256).bind(now)).await?;
    let Some(row) = rows.first() else { return Ok(false) };
    members::insert_in(row.get("account")?, user, read_role(row)?, now, tx).await?;
    Ok(true)
}

pub async fn is_invited(store: &Store, email: &str, now: i64) -> Result<bool, StoreError> {
    Ok(store.readers().fetch_optional(IS_INVITED.bind(email).bind(now)).await?.is_some())
}

/// Uses up every invitation of this address; returns their number.
pub(crate) async fn accept_all_in(
    email: &str,
    user: i64,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<u64, StoreError> {
    let mut joined = 0;
    for row in tx.fetch(USE_ALL.bind(email)).await? {
        if row.get::<i64>("expires_at")? > now {
            joined +=
                u64::from(members::insert_in(row.get("account")?, user, read_role(&row)?, now, tx).await?);
        }
    }
    Ok(joined)
}

/// Reads `email, role, expires_at`.
fn read(row: &Row) -> Result<Invitation, StoreError> {
    Ok(Invitation { email: row.get("email")?, role: read_role(row)?, expires_at: row.get("expires_at")? })
}
