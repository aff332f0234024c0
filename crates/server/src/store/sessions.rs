//! Who is signed in, and the links that sign somebody in once. Both are known by the SHA-256 of what the browser holds.

use super::database::{Row, Tx, sql};
use super::users::{self, User};
use super::{Store, StoreError};

/// A browser that is signed in. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The SHA-256 of its token.
    pub sha256: [u8; 32],
    /// When it signed in.
    pub created_at: i64,
    /// When it was used last, to the minute.
    pub seen_at: i64,
    /// When it ends at the latest.
    pub expires_at: i64,
    /// Whether it began by a link that works once.
    pub is_by_link: bool,
    /// What the browser calls itself.
    pub agent: Option<String>,
}

/// Signs a user in, and removes what has ended by then.
pub async fn insert(store: &Store, user: i64, session: &Session) -> Result<(), StoreError> {
    let session = session.clone();
    store.transaction(async move |tx| insert_in(user, &session, tx).await).await
}

async fn insert_in(user: i64, session: &Session, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute(sql("DELETE FROM sessions WHERE expires_at <= ?").bind(session.created_at)).await?;
    let text = "INSERT INTO sessions (sha256, user_seq, created_at, seen_at, expires_at, is_by_link, agent)
                SELECT ?, u.seq, ?, ?, ?, ?, ? FROM users u WHERE u.seq = ?";
    let insert = sql(text)
        .bind(session.sha256.to_vec())
        .bind(session.created_at)
        .bind(session.seen_at)
        .bind(session.expires_at)
        .bind(session.is_by_link)
        .bind(session.agent.clone())
        .bind(user);
    tx.execute(insert).await?;
    let update = sql("UPDATE users SET signed_in_at = ? WHERE seq = ?").bind(session.created_at).bind(user);
    tx.execute(update).await.map(drop)
}

/// What [`read`] reads, of `sessions s`.
macro_rules! columns {
    () => {
        "s.sha256, s.created_at, s.seen_at, s.expires_at, s.is_by_link, s.agent"
    };
}

/// The session of a token with this hash, and whose it is. Its end is for the caller to compare.
pub async fn find(store: &Store, sha256: &[u8; 32]) -> Result<Option<(Session, User)>, StoreError> {
    let text = concat!(
        "SELECT ",
        columns!(),
        ", ",
        users::columns!(),
        " FROM sessions s JOIN users u ON u.seq = s.user_seq WHERE s.sha256 = ?"
    );
    let row = store.readers().fetch_optional(sql(text).bind(sha256.to_vec())).await?;
    row.map(|row| Ok((read(&row)?, users::read(&row, 6)?))).transpose()
}

/// The sessions of a user, the newest first.
pub async fn list(store: &Store, user: i64) -> Result<Vec<Session>, StoreError> {
    let text =
        concat!("SELECT ", columns!(), " FROM sessions s WHERE s.user_seq = ? ORDER BY s.created_at DESC");
    store.readers().fetch_all(sql(text).bind(user)).await?.iter().map(read).collect()
}

/// Notes that a session was used.
pub async fn touch(store: &Store, sha256: &[u8; 32], now: i64) -> Result<(), StoreError> {
    let mut connection = store.connect().await?;
    let update = sql("UPDATE sessions SET seen_at = ? WHERE sha256 = ?").bind(now).bind(sha256.to_vec());
    connection.execute(update).await.map(drop)
}

/// Ends a session.
pub async fn remove(store: &Store, sha256: &[u8; 32]) -> Result<(), StoreError> {
    let mut connection = store.connect().await?;
    connection.execute(sql("DELETE FROM sessions WHERE sha256 = ?").bind(sha256.to_vec())).await.map(drop)
}

/// Ends every session of a user but one, and takes every link back that would sign the user in; how many sessions.
pub async fn remove_others(store: &Store, user: i64, but: Option<&[u8; 32]>) -> Result<u64, StoreError> {
    let mut connection = store.connect().await?;
    connection.execute(sql("DELETE FROM sign_in_links WHERE user_seq = ?").bind(user)).await?;
    let but = but.map_or_else(Vec::new, |sha256| sha256.to_vec());
    let delete = sql("DELETE FROM sessions WHERE user_seq = ? AND sha256 <> ?").bind(user).bind(but);
    connection.execute(delete).await
}

fn read(row: &Row) -> Result<Session, StoreError> {
    let sha256: &[u8] = row.get(0)?;
    Ok(Session {
        sha256: sha256.try_into().map_err(|_| StoreError::Damaged("a session's hash"))?,
        created_at: row.get(1)?,
        seen_at: row.get(2)?,
        expires_at: row.get(3)?,
        is_by_link: row.get::<i64>(4)? != 0,
        agent: row.get(5)?,
    })
}

/// Makes the one link that signs a user in until `expires_at`; those before work no more.
pub async fn replace_link(
    store: &Store,
    user: i64,
    sha256: &[u8; 32],
    now: i64,
    expires_at: i64,
) -> Result<(), StoreError> {
    let mut connection = store.connect().await?;
    let delete = sql("DELETE FROM sign_in_links WHERE user_seq = ? OR expires_at <= ?").bind(user).bind(now);
    connection.execute(delete).await?;
    let text = "INSERT INTO sign_in_links (sha256, user_seq, created_at, expires_at) SELECT ?, u.seq, ?, ? FROM users u WHERE u.seq = ?";
    let insert = sql(text).bind(sha256.to_vec()).bind(now).bind(expires_at).bind(user);
    connection.execute(insert).await.map(drop)
}

/// Whom a link would sign in at `now`.
pub async fn find_link(store: &Store, sha256: &[u8; 32], now: i64) -> Result<Option<User>, StoreError> {
    let text = concat!(
        "SELECT ",
        users::columns!(),
        " FROM sign_in_links l JOIN users u ON u.seq = l.user_seq WHERE l.sha256 = ? AND l.expires_at > ?"
    );
    let row = store.readers().fetch_optional(sql(text).bind(sha256.to_vec()).bind(now)).await?;
    row.as_ref().map(|row| users::read(row, 0)).transpose()
}

/// Uses a link up; `false` where somebody else did, or it has ended.
pub async fn use_link(store: &Store, sha256: &[u8; 32], now: i64) -> Result<bool, StoreError> {
    let mut connection = store.connect().await?;
    let delete = sql("DELETE FROM sign_in_links WHERE sha256 = ? AND expires_at > ?");
    Ok(connection.execute(delete.bind(sha256.to_vec()).bind(now)).await? == 1)
}
