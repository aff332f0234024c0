//! Members of accounts, and their roles.

use overnight_domain::audit_log::AuditAction;
use overnight_domain::ids::{AccountId, UserId};
use overnight_domain::roles::Role;
use overnight_domain::scheduler::AccountKey;
use serde_json::json;

use crate::audit_log::{self, Change};
use crate::database::{Row, Tx, statements};
use crate::identity::accounts::{self, Account};
use crate::identity::users::{self, User};
use crate::identity::withdrawals;
use crate::ledger::totals;
use crate::{Store, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub user: User,
    pub role: Role,
    /// In milliseconds.
    pub created_at: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberChange {
    Done,
    Unknown,
    /// The account would have no owner.
    LastOwner,
}

statements! {
    LIST = "SELECT m.role, m.created_at AS member_created_at, u.seq, u.id, u.email, u.password IS NOT NULL AS has_password, u.issuer,
               u.is_operator, u.created_at, u.signed_in_at
        FROM members m JOIN users u ON u.seq = m.user_seq WHERE m.account = ? ORDER BY m.created_at, u.seq";
    FIND_ACCOUNT = "SELECT m.role, a.seq, a.id, a.name, a.created_at, a.balance, a.held, a.payments_activated_at, a.suspended_at, a.closed_at, a.erase_at, a.erased_at, a.retention_ms, a.monthly_credits, a.low_credits_threshold, a.low_credits_webhook, a.live_requests, a.stored_bytes,
               a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota
        FROM accounts a LEFT JOIN members m ON m.account = a.seq AND m.user_seq = ?
        WHERE a.id = ? AND ((m.role IS NOT NULL AND a.closed_at IS NULL) OR ? = 1)";
    LIST_ACCOUNTS = "SELECT m.role, a.seq, a.id, a.name, a.created_at, a.balance, a.held, a.payments_activated_at, a.suspended_at, a.closed_at, a.erase_at, a.erased_at, a.retention_ms, a.monthly_credits, a.low_credits_threshold, a.low_credits_webhook, a.live_requests, a.stored_bytes,
               a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota
        FROM members m JOIN accounts a ON a.seq = m.account WHERE m.user_seq = ? AND a.closed_at IS NULL ORDER BY m.created_at, a.seq";
    FIND_USER = "SELECT id, email FROM users WHERE seq = ?";
    INSERT = "INSERT INTO members (account, user_seq, role, created_at)
        SELECT ?, seq, ?, ? FROM users WHERE seq = ? ON CONFLICT DO NOTHING";
    /// One change of an account at a time.
    LOCK_ACCOUNT = {
        sqlite: "SELECT seq FROM accounts WHERE seq = ?",
        postgres: "SELECT seq FROM accounts WHERE seq = ? FOR UPDATE",
    };
    LIST_ROLES = "SELECT m.user_seq, m.role, u.id, u.email FROM members m JOIN users u ON u.seq = m.user_seq WHERE m.account = ?";
    UPDATE = "UPDATE members SET role = ? WHERE account = ? AND user_seq = ?";
    DELETE = "DELETE FROM members WHERE account = ? AND user_seq = ?";
}

/// In the order in which they joined.
pub async fn list(store: &Store, account: AccountKey) -> Result<Vec<Member>, StoreError> {
    store.readers().fetch_all(LIST.bind(account)).await?.iter().map(read).collect()
}

/// The account and the user's role, `None` for a non-member. An account of which the user is not a member is not read, unless the user
/// `sees_all`.
pub async fn find_account(
    store: &Store,
    account: AccountId,
    user: i64,
    sees_all: bool,
) -> Result<Option<(Account, Option<Role>)>, StoreError> {
    let statement = FIND_ACCOUNT.bind(user).bind(account).bind(i64::from(sees_all));
    let Some(row) = store.readers().fetch_optional(statement).await? else { return Ok(None) };
    let role = match row.get::<Option<i64>>("role")? {
        Some(_) => Some(read_role(&row)?),
        None => None,
    };
    Ok(Some((accounts::read(&row)?, role)))
}

/// In the order in which the user joined them.
pub async fn accounts_of(store: &Store, user: i64) -> Result<Vec<(Account, Role)>, StoreError> {
    let rows = store.readers().fetch_all(LIST_ACCOUNTS.bind(user)).await?;
    rows.iter().map(|row| Ok((accounts::read(row)?, read_role(row)?))).collect()
}

/// An existing member keeps the role.
pub async fn insert(
    store: &Store,
    account: AccountKey,
    user: i64,
    role: Role,
    now: i64,
) -> Result<(), StoreError> {
    store.transaction(async move |tx| insert_in(account, user, role, now, tx).await.map(drop)).await
}

/// Returns whether the user was not a member.
pub(crate) async fn insert_in(
    account: AccountKey,
    user: i64,
    role: Role,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<bool, StoreError> {
    totals::lock_open(account, tx).await?;
    if tx.execute(INSERT.bind(account).bind(role_code(role)).bind(now).bind(user)).await? == 0 {
        return Ok(false);
    }
    if let Some(row) = tx.fetch(FIND_USER.bind(user)).await?.first() {
        let change = Change::of_user(AuditAction::MemberAdd, row.get("id")?, now).in_account(account);
        let details = json!({"email": row.get::<Option<String>>("email")?, "role": role.as_str()});
        audit_log::note_in(change.with(details), tx).await?;
    }
    Ok(true)
}

/// Gives a member another role, or removes them, and withdraws invitations by them to higher roles. An account keeps an owner. Unknown users and users of other accounts get the same answer:
/// both are looked for among the members.
pub async fn change(
    store: &Store,
    account: AccountKey,
    user: UserId,
    role: Option<Role>,
    now: i64,
) -> Result<MemberChange, StoreError> {
    store.transaction_of(account, async move |tx| change_in(account, user, role, now, tx).await).await
}

async fn change_in(
    account: AccountKey,
    user: UserId,
    role: Option<Role>,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<MemberChange, StoreError> {
    tx.fetch(LOCK_ACCOUNT.bind(account)).await?;
    let (mut member, mut other_owners) = (None, 0);
    for row in tx.fetch(LIST_ROLES.bind(account)).await? {
        if row.get::<UserId>("id")? == user {
            member =
                Some((row.get::<i64>("user_seq")?, read_role(&row)?, row.get::<Option<String>>("email")?));
        } else {
            other_owners += i64::from(read_role(&row)? == Role::Owner);
        }
    }
    let Some((member, before, email)) = member else { return Ok(MemberChange::Unknown) };
    if other_owners == 0 && role != Some(Role::Owner) {
        return Ok(MemberChange::LastOwner);
    }
    if role == Some(before) {
        return Ok(MemberChange::Done);
    }
    let (statement, action) = match role {
        Some(role) => (UPDATE.bind(role_code(role)), AuditAction::MemberRole),
        None => (DELETE.unbound(), AuditAction::MemberRemove),
    };
    let details = json!({"email": email, "role": role.map(Role::as_str), "before": before.as_str()});
    let change = Change::of_user(action, user, now).in_account(account).with(details);
    audit_log::note_in(change.never_refused_if(role < Some(before)), tx).await?;
    tx.execute(statement.bind(account).bind(member)).await?;
    // An invitation would give back what is taken.
    withdrawals::withdraw_above_in(account, member, role.map_or(-1, role_code), now, tx).await?;
    Ok(MemberChange::Done)
}

fn read(row: &Row) -> Result<Member, StoreError> {
    Ok(Member { role: read_role(row)?, created_at: row.get("member_created_at")?, user: users::read(row)? })
}

pub(crate) const fn role_code(role: Role) -> i64 {
    match role {
        Role::Viewer => 0,
        Role::Developer => 1,
        Role::Owner => 2,
    }
}

pub(crate) fn read_role(row: &Row) -> Result<Role, StoreError> {
    let code: i64 = row.get("role")?;
    let role = Role::ALL.into_iter().find(|role| role_code(*role) == code);
    role.ok_or(StoreError::Damaged("a member's role"))
}
