//! Sessions, and links that sign a user in once. Both are known by the SHA-256 of the browser's token.

use overnight_domain::audit_log::AuditAction;
use serde_json::json;

use crate::database::{Row, Tx, statements};
use crate::identity::sign_in_failures::{self, Forgiveness};
use crate::identity::users::{self, User};
use crate::{Store, StoreError};

/// Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub sha256: [u8; 32],
    pub created_at: i64,
    /// Last use, to the minute.
    pub seen_at: i64,
    pub expires_at: i64,
    /// Whether a one-time link began it.
    pub is_by_link: bool,
    pub agent: Option<String>,
}

/// A link that signs a user in once. Times are in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct NewLink {
    pub sha256: [u8; 32],
    pub created_at: i64,
    pub expires_at: i64,
}

statements! {
    NOTE_SIGN_IN = "UPDATE users SET signed_in_at = ? WHERE seq = ?";
    NOTE_SIGN_IN_BY_PASSWORD = "UPDATE users SET signed_in_at = ? WHERE seq = ? AND password = ?";
    NOTE_SIGN_IN_BY_LINK = "UPDATE users SET signed_in_at = ?, password = NULL WHERE seq = ?";
    INSERT = "INSERT INTO sessions (sha256, user_seq, created_at, seen_at, expires_at, is_by_link, agent)
        VALUES (?, ?, ?, ?, ?, ?, ?)";
    DELETE_ENDED = "DELETE FROM sessions WHERE expires_at <= ?";
    FIND = "SELECT s.sha256, s.created_at AS session_created_at, s.seen_at, s.expires_at, s.is_by_link, s.agent,
               u.seq, u.id, u.email, u.password IS NOT NULL AS has_password, u.issuer, u.is_operator, u.created_at, u.signed_in_at
        FROM sessions s JOIN users u ON u.seq = s.user_seq WHERE s.sha256 = ?";
    LIST = "SELECT sha256, created_at AS session_created_at, seen_at, expires_at, is_by_link, agent
        FROM sessions WHERE user_seq = ? ORDER BY created_at DESC";
    TOUCH = "UPDATE sessions SET seen_at = ? WHERE sha256 = ?";
    DELETE = "DELETE FROM sessions WHERE sha256 = ?";
    DELETE_LINKS = "DELETE FROM sign_in_links WHERE user_seq = ? OR expires_at <= ?";
    INSERT_LINK = "INSERT INTO sign_in_links (sha256, user_seq, created_at, expires_at)
        SELECT ?, seq, ?, ? FROM users WHERE seq = ?";
    FIND_LINK = "SELECT u.seq, u.id, u.email, u.password IS NOT NULL AS has_password, u.issuer, u.is_operator, u.created_at,
               u.signed_in_at
        FROM sign_in_links l JOIN users u ON u.seq = l.user_seq WHERE l.sha256 = ? AND l.expires_at > ?";
    USE_LINK = "DELETE FROM sign_in_links WHERE sha256 = ? AND expires_at > ? RETURNING user_seq";
}

/// Signs in a user known to an OpenID provider, and removes ended sessions.
pub async fn insert(store: &Store, user: i64, session: &Session) -> Result<(), StoreError> {
    let session = session.clone();
    store.transaction(async move |tx| insert_in(user, &session, "oidc", tx).await.map(drop)).await
}

/// Signs in a user whose password has the hash `password`, and applies `forgiven`; `false` if the password was changed meanwhile.
pub async fn insert_by_password(
    store: &Store,
    user: i64,
    session: &Session,
    password: &str,
    forgiven: &[Forgiveness],
) -> Result<bool, StoreError> {
    let (session, forgiven) = (session.clone(), forgiven.to_vec());
    let note = NOTE_SIGN_IN_BY_PASSWORD.bind(session.created_at).bind(user).bind(password);
    let sign_in = async move |tx: &mut Tx<'_>| {
        if tx.execute(note).await? == 0 {
            return Ok(false);
        }
        insert_noted_in(user, &session, "password", tx).await?;
        sign_in_failures::forgive_in(&forgiven, tx).await?;
        Ok(true)
    };
    store.transaction(sign_in).await
}

/// For a sign-in `by` other means; `false` for an unknown user. The user's row is locked first, as by changes that end sessions, so that a
/// sign-in and a change follow each other.
pub(crate) async fn insert_in(
    user: i64,
    session: &Session,
    by: &'static str,
    tx: &mut Tx<'_>,
) -> Result<bool, StoreError> {
    if tx.execute(NOTE_SIGN_IN.bind(session.created_at).bind(user)).await? == 0 {
        return Ok(false);
    }
    insert_noted_in(user, session, by, tx).await?;
    Ok(true)
}

async fn insert_noted_in(
    user: i64,
    session: &Session,
    by: &'static str,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    tx.act_as_user(user);
    let details = json!({"by": by});
    // There are only as many as links were made, and a user whom others lock out needs one.
    match session.is_by_link {
        true => users::note_always_in(AuditAction::SignIn, user, details, session.created_at, tx).await?,
        false => users::note_in(AuditAction::SignIn, user, details, session.created_at, tx).await?,
    }
    let insert = INSERT
        .bind(session.sha256)
        .bind(user)
        .bind(session.created_at)
        .bind(session.seen_at)
        .bind(session.expires_at)
        .bind(session.is_by_link)
        .bind(session.agent.clone());
    tx.execute(insert).await?;
    tx.execute(DELETE_ENDED.bind(session.created_at)).await.map(drop)
}

/// The session of a token, and its user. The caller compares its end.
pub async fn find(store: &Store, sha256: &[u8; 32]) -> Result<Option<(Session, User)>, StoreError> {
    let row = store.readers().fetch_optional(FIND.bind(*sha256)).await?;
    row.map(|row| Ok((read(&row)?, users::read(&row)?))).transpose()
}

/// Newest first.
pub async fn list(store: &Store, user: i64) -> Result<Vec<Session>, StoreError> {
    store.readers().fetch_all(LIST.bind(user)).await?.iter().map(read).collect()
}

pub async fn touch(store: &Store, sha256: &[u8; 32], now: i64) -> Result<(), StoreError> {
    let update = TOUCH.bind(now).bind(*sha256);
    store.transaction(async move |tx| tx.execute(update).await.map(drop)).await
}

pub async fn remove(store: &Store, sha256: &[u8; 32]) -> Result<(), StoreError> {
    let delete = DELETE.bind(*sha256);
    store.transaction(async move |tx| tx.execute(delete).await.map(drop)).await
}

/// Ends every session of a user but one, and revokes the user's links; returns the number of sessions.
pub async fn remove_others(
    store: &Store,
    user: i64,
    but: Option<&[u8; 32]>,
    now: i64,
) -> Result<u64, StoreError> {
    let but = but.copied();
    let signing_out = async move |tx: &mut Tx<'_>| {
        let ended = users::sign_out_in(user, but.as_ref(), tx).await?;
        if ended > 0 {
            users::note_in(AuditAction::UserSignOut, user, json!({"sessions": ended}), now, tx).await?;
        }
        Ok(ended)
    };
    store.transaction(signing_out).await
}

/// Makes the one link of a user; earlier links stop working, and ended ones are removed.
pub async fn replace_link(store: &Store, user: i64, link: NewLink) -> Result<(), StoreError> {
    store.transaction(async move |tx| replace_link_in(user, link, tx).await).await
}

pub(crate) async fn replace_link_in(user: i64, link: NewLink, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute(DELETE_LINKS.bind(user).bind(link.created_at)).await?;
    let insert = INSERT_LINK.bind(link.sha256).bind(link.created_at).bind(link.expires_at).bind(user);
    tx.execute(insert).await?;
    users::note_in(AuditAction::SignInLinkCreate, user, json!({}), link.created_at, tx).await
}

/// The user of a link that works at `now`.
pub async fn find_link(store: &Store, sha256: &[u8; 32], now: i64) -> Result<Option<User>, StoreError> {
    let row = store.readers().fetch_optional(FIND_LINK.bind(*sha256).bind(now)).await?;
    row.as_ref().map(users::read).transpose()
}

/// Uses up a link and signs its user in. Earlier means of access, a password and sessions, stop working. `false` if the link was used, or
/// ended by the time of the session.
pub async fn use_link(store: &Store, sha256: &[u8; 32], session: &Session) -> Result<bool, StoreError> {
    let session = session.clone();
    let link = USE_LINK.bind(*sha256).bind(session.created_at);
    let sign_in = async move |tx: &mut Tx<'_>| {
        let rows = tx.fetch(link).await?;
        let Some(row) = rows.first() else { return Ok(false) };
        let user = row.get("user_seq")?;
        if tx.execute(NOTE_SIGN_IN_BY_LINK.bind(session.created_at).bind(user)).await? == 0 {
            return Ok(false);
        }
        users::sign_out_in(user, None, tx).await?;
        insert_noted_in(user, &session, "link", tx).await?;
        Ok(true)
    };
    store.transaction(sign_in).await
}

/// Reads `sha256, session_created_at, seen_at, expires_at, is_by_link, agent`.
fn read(row: &Row) -> Result<Session, StoreError> {
    Ok(Session {
        sha256: row.get("sha256")?,
        created_at: row.get("session_created_at")?,
        seen_at: row.get("seen_at")?,
        expires_at: row.get("expires_at")?,
        is_by_link: row.get("is_by_link")?,
        agent: row.get("agent")?,
    })
}
