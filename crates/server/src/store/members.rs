//! Who belongs to which account, and as what.

use overnight_domain::roles::Role;
use overnight_domain::scheduler::AccountKey;

use super::accounts::{self, Account};
use super::database::{Row, Tx, sql};
use super::users::{self, User};
use super::{Store, StoreError};

/// Somebody who belongs to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub user: User,
    /// As what.
    pub role: Role,
    /// Since when, in milliseconds.
    pub created_at: i64,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberChange {
    /// It is made.
    Done,
    /// The user is no member.
    Unknown,
    /// It would leave the account without an owner.
    LastOwner,
}

/// The members of an account, in the order in which they came.
pub async fn list(store: &Store, account: AccountKey) -> Result<Vec<Member>, StoreError> {
    let text = concat!(
        "SELECT m.role, m.created_at, ",
        users::columns!(),
        " FROM members m JOIN users u ON u.seq = m.user_seq WHERE m.account = ? ORDER BY m.created_at, u.seq"
    );
    store.readers().fetch_all(sql(text).bind(account.0)).await?.iter().map(read).collect()
}

/// What a user is in an account.
pub async fn find(store: &Store, account: AccountKey, user: i64) -> Result<Option<Role>, StoreError> {
    let query = sql("SELECT role FROM members WHERE account = ? AND user_seq = ?").bind(account.0).bind(user);
    store.readers().fetch_optional(query).await?.map(|row| role_of(row.get(0)?)).transpose()
}

/// The accounts that a user belongs to, in the order in which they came to them.
pub async fn accounts_of(store: &Store, user: i64) -> Result<Vec<(Account, Role)>, StoreError> {
    let text = concat!(
        "SELECT ",
        accounts::columns!(),
        ", m.role FROM members m JOIN accounts ON accounts.seq = m.account WHERE m.user_seq = ? ORDER BY m.created_at, accounts.seq"
    );
    let rows = store.readers().fetch_all(sql(text).bind(user)).await?;
    rows.iter().map(|row| Ok((accounts::read(row)?, role_of(row.get(7)?)?))).collect()
}

/// Makes a user a member; one who is keeps the role.
pub async fn insert(
    store: &Store,
    account: AccountKey,
    user: i64,
    role: Role,
    now: i64,
) -> Result<(), StoreError> {
    let mut connection = store.connect().await?;
    let text = "INSERT INTO members (account, user_seq, role, created_at)
                SELECT ?, u.seq, ?, ? FROM users u WHERE u.seq = ? ON CONFLICT DO NOTHING";
    let insert = sql(text).bind(account.0).bind(role_code(role)).bind(now).bind(user);
    connection.execute(insert).await.map(drop)
}

/// Gives a member another role, or none any more. An account keeps an owner.
pub async fn change(
    store: &Store,
    account: AccountKey,
    user: i64,
    role: Option<Role>,
) -> Result<MemberChange, StoreError> {
    let mut connection = store.connect().await?;
    let mut tx = Tx::begin(&mut connection).await?;
    let changed = change_in(account, user, role, &mut tx).await;
    tx.conclude(changed, |change| *change == MemberChange::Done).await
}

async fn change_in(
    account: AccountKey,
    user: i64,
    role: Option<Role>,
    tx: &mut Tx<'_>,
) -> Result<MemberChange, StoreError> {
    // One change of an account at a time.
    tx.fetch(sql("SELECT seq FROM accounts WHERE seq = ?").bind(account.0).locking()).await?;
    let members =
        tx.fetch(sql("SELECT user_seq, role FROM members WHERE account = ?").bind(account.0)).await?;
    let (mut is_member, mut other_owners) = (false, 0);
    for row in &members {
        let (member, held): (i64, i64) = (row.get(0)?, row.get(1)?);
        is_member |= member == user;
        other_owners += i64::from(member != user && held == role_code(Role::Owner));
    }
    if !is_member {
        return Ok(MemberChange::Unknown);
    }
    if other_owners == 0 && role != Some(Role::Owner) {
        return Ok(MemberChange::LastOwner);
    }
    let statement = match role {
        Some(role) => {
            sql("UPDATE members SET role = ? WHERE account = ? AND user_seq = ?").bind(role_code(role))
        }
        None => sql("DELETE FROM members WHERE account = ? AND user_seq = ?"),
    };
    tx.execute(statement.bind(account.0).bind(user)).await?;
    Ok(MemberChange::Done)
}

fn read(row: &Row) -> Result<Member, StoreError> {
    Ok(Member { role: role_of(row.get(0)?)?, created_at: row.get(1)?, user: users::read(row, 2)? })
}

pub(super) const fn role_code(role: Role) -> i64 {
    match role {
        Role::Viewer => 0,
        Role::Developer => 1,
        Role::Owner => 2,
    }
}

pub(super) fn role_of(number: i64) -> Result<Role, StoreError> {
    Role::ALL
        .into_iter()
        .find(|role| role_code(*role) == number)
        .ok_or(StoreError::Damaged("a member's role"))
}
