//! Invitations: links by which somebody becomes a member of an account once, as whoever they are.

use overnight_domain::roles::Role;
use overnight_domain::scheduler::AccountKey;

use super::accounts::{self, Account};
use super::database::{Row, Tx, sql};
use super::members::{role_code, role_of};
use super::{Store, StoreError};

/// An invitation. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// What whoever invites calls them.
    pub email: String,
    /// As what they are to come.
    pub role: Role,
    /// Until when it works.
    pub expires_at: i64,
}

/// Keeps an invitation to an account, in the place of an earlier one of the same person; `false` where `most` wait already.
/// What has ended by `now` is forgotten.
pub async fn insert(
    store: &Store,
    account: AccountKey,
    invitation: &Invitation,
    sha256: &[u8; 32],
    now: i64,
    most: i64,
) -> Result<bool, StoreError> {
    let mut connection = store.connect().await?;
    connection.execute(sql("DELETE FROM invitations WHERE expires_at <= ?").bind(now)).await?;
    let text = "INSERT INTO invitations (account, email, sha256, role, created_at, expires_at)
                SELECT ?, ?, ?, ?, ?, ? WHERE (SELECT count(*) FROM invitations WHERE account = ?) < ?
                ON CONFLICT (account, email) DO UPDATE SET sha256 = excluded.sha256, role = excluded.role,
                    created_at = excluded.created_at, expires_at = excluded.expires_at";
    let insert = sql(text)
        .bind(account.0)
        .bind(invitation.email.as_str())
        .bind(sha256.to_vec())
        .bind(role_code(invitation.role))
        .bind(now)
        .bind(invitation.expires_at)
        .bind(account.0)
        .bind(most);
    Ok(connection.execute(insert).await? == 1)
}

/// Those of an account that work at `now`, in the order of their e-mail addresses.
pub async fn list(store: &Store, account: AccountKey, now: i64) -> Result<Vec<Invitation>, StoreError> {
    let text =
        "SELECT email, role, expires_at FROM invitations WHERE account = ? AND expires_at > ? ORDER BY email";
    let rows = store.readers().fetch_all(sql(text).bind(account.0).bind(now)).await?;
    rows.iter().map(|row| read(row, 0)).collect()
}

/// Takes an invitation back.
pub async fn remove(store: &Store, account: AccountKey, email: &str) -> Result<(), StoreError> {
    let mut connection = store.connect().await?;
    let delete = sql("DELETE FROM invitations WHERE account = ? AND email = ?").bind(account.0).bind(email);
    connection.execute(delete).await.map(drop)
}

/// To which account a link invites at `now`, and as what.
pub async fn find(
    store: &Store,
    sha256: &[u8; 32],
    now: i64,
) -> Result<Option<(Account, Invitation)>, StoreError> {
    let text = concat!(
        "SELECT ",
        accounts::columns!(),
        ", i.email, i.role, i.expires_at FROM invitations i JOIN accounts ON accounts.seq = i.account
         WHERE i.sha256 = ? AND i.expires_at > ?"
    );
    let row = store.readers().fetch_optional(sql(text).bind(sha256.to_vec()).bind(now)).await?;
    row.map(|row| Ok((accounts::read(&row)?, read(&row, 7)?))).transpose()
}

/// Makes a user a member by an invitation, which is used up; `false` where it works no more. One who is a member keeps the role.
pub async fn accept(store: &Store, sha256: &[u8; 32], user: i64, now: i64) -> Result<bool, StoreError> {
    let mut connection = store.connect().await?;
    let mut tx = Tx::begin(&mut connection).await?;
    let accepted = accept_in(sha256, user, now, &mut tx).await;
    tx.conclude(accepted, |is_accepted| *is_accepted).await
}

async fn accept_in(sha256: &[u8; 32], user: i64, now: i64, tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    let text = "DELETE FROM invitations WHERE sha256 = ? AND expires_at > ? RETURNING account, role";
    let rows = tx.fetch(sql(text).bind(sha256.to_vec()).bind(now)).await?;
    let Some(row) = rows.first() else { return Ok(false) };
    let text = "INSERT INTO members (account, user_seq, role, created_at)
                SELECT ?, u.seq, ?, ? FROM users u WHERE u.seq = ? ON CONFLICT DO NOTHING";
    let insert = sql(text).bind(row.get::<i64>(0)?).bind(row.get::<i64>(1)?).bind(now).bind(user);
    tx.execute(insert).await?;
    Ok(true)
}

/// Whether any account invites this e-mail address at `now`.
pub async fn is_invited(store: &Store, email: &str, now: i64) -> Result<bool, StoreError> {
    let query = sql("SELECT 1 FROM invitations WHERE email = ? AND expires_at > ? LIMIT 1");
    Ok(store.readers().fetch_optional(query.bind(email).bind(now)).await?.is_some())
}

/// Makes a user a member by every invitation of this e-mail address, which are used up; how many.
pub async fn accept_all(store: &Store, email: &str, user: i64, now: i64) -> Result<u64, StoreError> {
    let mut connection = store.connect().await?;
    let mut tx = Tx::begin(&mut connection).await?;
    let accepted = accept_all_in(email, user, now, &mut tx).await;
    tx.conclude(accepted, |_| true).await
}

async fn accept_all_in(email: &str, user: i64, now: i64, tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    let text = "INSERT INTO members (account, user_seq, role, created_at)
                SELECT account, ?, role, ? FROM invitations WHERE email = ? AND expires_at > ? ON CONFLICT DO NOTHING";
    let joined = tx.execute(sql(text).bind(user).bind(now).bind(email).bind(now)).await?;
    tx.execute(sql("DELETE FROM invitations WHERE email = ?").bind(email)).await?;
    Ok(joined)
}

fn read(row: &Row, first: usize) -> Result<Invitation, StoreError> {
    Ok(Invitation {
        email: row.get(first)?,
        role: role_of(row.get(first + 1)?)?,
        expires_at: row.get(first + 2)?,
    })
}
