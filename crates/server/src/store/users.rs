//! Those who sign in to the console.

use overnight_domain::ids::UserId;

use super::database::{Connection, Row, Tx, sql};
use super::{Store, StoreError};

/// Somebody who signs in. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The row number.
    pub key: i64,
    /// The identifier.
    pub id: UserId,
    /// In small letters.
    pub email: Option<String>,
    /// Whether there is a password.
    pub has_password: bool,
    /// The OpenID provider that knows the user.
    pub issuer: Option<String>,
    /// Whether every account is open to the user.
    pub is_operator: bool,
    /// When the user was made.
    pub created_at: i64,
    /// When the user signed in last.
    pub signed_in_at: Option<i64>,
}

/// A user to be made.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// The identifier.
    pub id: UserId,
    /// In small letters; nobody else's.
    pub email: Option<String>,
    /// The issuer and the subject by which an OpenID provider knows the user.
    pub subject: Option<(String, String)>,
    /// Whether every account is open to the user.
    pub is_operator: bool,
    /// When the user is made, in milliseconds.
    pub created_at: i64,
}

/// What [`read`] reads, of `users u`.
macro_rules! columns {
    () => {
        "u.seq, u.id, u.email, u.password IS NOT NULL, u.issuer, u.is_operator, u.created_at, u.signed_in_at"
    };
}
pub(super) use columns;

/// Makes a user; `None` where somebody has the e-mail address or the subject already.
pub async fn insert(store: &Store, user: &NewUser) -> Result<Option<User>, StoreError> {
    let mut connection = store.connect().await?;
    let (issuer, subject) = user.subject.clone().unzip();
    let text =
        "INSERT INTO users (id, email, issuer, subject, is_operator, created_at) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING";
    let insert = sql(text)
        .bind(user.id.to_bytes())
        .bind(user.email.clone())
        .bind(issuer)
        .bind(subject)
        .bind(user.is_operator)
        .bind(user.created_at);
    connection.execute(insert).await?;
    find_in(user.id, &mut connection).await
}

async fn find_in(id: UserId, connection: &mut Connection) -> Result<Option<User>, StoreError> {
    let text = concat!("SELECT ", columns!(), " FROM users u WHERE u.id = ?");
    let rows = connection.fetch(sql(text).bind(id.to_bytes())).await?;
    rows.first().map(|row| read(row, 0)).transpose()
}

/// The user with this identifier.
pub async fn find(store: &Store, id: UserId) -> Result<Option<User>, StoreError> {
    let text = concat!("SELECT ", columns!(), " FROM users u WHERE u.id = ?");
    let row = store.readers().fetch_optional(sql(text).bind(id.to_bytes())).await?;
    row.as_ref().map(|row| read(row, 0)).transpose()
}

/// The user with this e-mail address, and the hash of the password.
pub async fn find_by_email(store: &Store, email: &str) -> Result<Option<(User, Option<String>)>, StoreError> {
    let text = concat!("SELECT ", columns!(), ", u.password FROM users u WHERE u.email = ?");
    let row = store.readers().fetch_optional(sql(text).bind(email)).await?;
    row.map(|row| Ok((read(&row, 0)?, row.get(8)?))).transpose()
}

/// The hash of a user's password.
pub async fn password(store: &Store, key: i64) -> Result<Option<String>, StoreError> {
    let row =
        store.readers().fetch_optional(sql("SELECT password FROM users WHERE seq = ?").bind(key)).await?;
    row.map_or(Ok(None), |row| row.get(0))
}

/// The user whom an OpenID provider knows by this subject.
pub async fn find_by_subject(store: &Store, issuer: &str, subject: &str) -> Result<Option<User>, StoreError> {
    let text = concat!("SELECT ", columns!(), " FROM users u WHERE u.issuer = ? AND u.subject = ?");
    let row = store.readers().fetch_optional(sql(text).bind(issuer).bind(subject)).await?;
    row.as_ref().map(|row| read(row, 0)).transpose()
}

/// Every user, oldest first.
pub async fn list(store: &Store) -> Result<Vec<User>, StoreError> {
    let text = concat!("SELECT ", columns!(), " FROM users u ORDER BY u.seq");
    store.readers().fetch_all(sql(text)).await?.iter().map(|row| read(row, 0)).collect()
}

/// How a user signs in from now on: what is `None` stays as it is.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    /// In small letters.
    pub email: Option<String>,
    /// The hash of the password.
    pub password: Option<String>,
}

/// Changes how a user signs in; `false` where somebody else has the e-mail address.
pub async fn set_credentials(store: &Store, key: i64, new: &Credentials) -> Result<bool, StoreError> {
    let mut connection = store.connect().await?;
    let text = "UPDATE users SET email = coalesce(?, email), password = coalesce(?, password)
                WHERE seq = ? AND NOT EXISTS (SELECT 1 FROM users o WHERE o.seq <> ? AND o.email = ?)";
    let update = sql(text)
        .bind(new.email.clone())
        .bind(new.password.clone())
        .bind(key)
        .bind(key)
        .bind(new.email.clone());
    Ok(connection.execute(update).await? == 1)
}

/// Has an OpenID provider know a user by a subject, and the user have no password any more; `false` where the user has a subject
/// already, or somebody else has this one.
pub async fn link(store: &Store, key: i64, issuer: &str, subject: &str) -> Result<bool, StoreError> {
    let mut connection = store.connect().await?;
    let text = "UPDATE users SET issuer = ?, subject = ?, password = NULL WHERE seq = ? AND subject IS NULL
                AND NOT EXISTS (SELECT 1 FROM users o WHERE o.issuer = ? AND o.subject = ?)";
    let update = sql(text).bind(issuer).bind(subject).bind(key).bind(issuer).bind(subject);
    Ok(connection.execute(update).await? == 1)
}

/// Removes a user with everything that lets the user in; `false` where there is none.
pub async fn remove(store: &Store, id: UserId) -> Result<bool, StoreError> {
    let mut connection = store.connect().await?;
    let mut tx = Tx::begin(&mut connection).await?;
    let removed = remove_in(id, &mut tx).await;
    tx.conclude(removed, |is_removed| *is_removed).await
}

async fn remove_in(id: UserId, tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    let rows = tx.fetch(sql("DELETE FROM users WHERE id = ? RETURNING seq").bind(id.to_bytes())).await?;
    let Some(key) = rows.first().map(|row| row.get::<i64>(0)).transpose()? else { return Ok(false) };
    for text in [
        "DELETE FROM members WHERE user_seq = ?",
        "DELETE FROM sessions WHERE user_seq = ?",
        "DELETE FROM sign_in_links WHERE user_seq = ?",
    ] {
        tx.execute(sql(text).bind(key)).await?;
    }
    Ok(true)
}

/// Reads [`columns!`] from column `first` on.
pub(super) fn read(row: &Row, first: usize) -> Result<User, StoreError> {
    Ok(User {
        key: row.get(first)?,
        id: UserId::from_bytes(row.get(first + 1)?).ok_or(StoreError::Damaged("a user's id"))?,
        email: row.get(first + 2)?,
        has_password: row.get(first + 3)?,
        issuer: row.get(first + 4)?,
        is_operator: row.get::<i64>(first + 5)? != 0,
        created_at: row.get(first + 6)?,
        signed_in_at: row.get(first + 7)?,
    })
}
