//! Users of the console.

use overnight_domain::audit_log::AuditAction;
use overnight_domain::ids::UserId;
use serde_json::{Value as Json, json};

use crate::audit_log::{self, Change};
use crate::database::{Row, Tx, statements};
use crate::identity::withdrawals;
use crate::{Store, StoreError};

/// Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Row number.
    pub key: i64,
    pub id: UserId,
    pub email: Option<String>,
    pub has_password: bool,
    /// The OpenID provider that knows the user.
    pub issuer: Option<String>,
    /// Operators see every account.
    pub is_operator: bool,
    pub created_at: i64,
    pub signed_in_at: Option<i64>,
}

#[derive(Debug, Clone)]
pub struct NewUser {
    pub id: UserId,
    /// Lower case, unique.
    pub email: Option<String>,
    pub password: Option<String>,
    /// Issuer and subject at an OpenID provider.
    pub subject: Option<(String, String)>,
    /// Operators see every account.
    pub is_operator: bool,
    /// In milliseconds.
    pub created_at: i64,
}

/// Changes to how a user signs in; `None` keeps a value.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    pub email: Option<String>,
    pub password: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    Done,
    Unknown,
    /// No operator would be left.
    LastOperator,
}

/// Outcome of an operator's link to a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linking {
    /// The provider knows the user by the subject, now or before.
    Done,
    /// The user has another subject.
    OtherSubject,
    /// This user has the subject.
    OtherUser(UserId),
    Unknown,
}

statements! {
    INSERT = "INSERT INTO users (id, email, password, issuer, subject, is_operator, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING
        RETURNING seq, id, email, password IS NOT NULL AS has_password, issuer, is_operator, created_at, signed_in_at";
    FIND = "SELECT seq, id, email, password IS NOT NULL AS has_password, issuer, is_operator, created_at, signed_in_at
        FROM users WHERE id = ?";
    GET = "SELECT seq, id, email, password IS NOT NULL AS has_password, issuer, is_operator, created_at, signed_in_at
        FROM users WHERE seq = ?";
    FIND_BY_EMAIL = "SELECT seq, id, email, password IS NOT NULL AS has_password, issuer, is_operator, created_at, signed_in_at,
               password
        FROM users WHERE email = ?";
    FIND_BY_SUBJECT = "SELECT seq, id, email, password IS NOT NULL AS has_password, issuer, is_operator, created_at, signed_in_at
        FROM users WHERE issuer = ? AND subject = ?";
    FIND_PASSWORD = "SELECT password FROM users WHERE seq = ?";
    LIST = "SELECT seq, id, email, password IS NOT NULL AS has_password, issuer, is_operator, created_at, signed_in_at
        FROM users ORDER BY seq";
    SET_CREDENTIALS = "UPDATE users SET email = coalesce(?, email), password = coalesce(?, password)
        WHERE seq = ? AND NOT EXISTS (SELECT 1 FROM users o WHERE o.seq <> ? AND o.email = ?)";
    LINK = "UPDATE users SET issuer = ?, subject = ?, password = NULL
        WHERE seq = ? AND subject IS NULL AND NOT EXISTS (SELECT 1 FROM users o WHERE o.issuer = ? AND o.subject = ?)";
    FIND_SUBJECT = "SELECT subject FROM users WHERE seq = ?";
    RELINK = "UPDATE users SET issuer = ?, subject = ?, password = NULL WHERE seq = ?";
    /// One removal of an operator at a time: rows are locked in order.
    LOCK_OPERATORS = {
        sqlite: "SELECT id FROM users WHERE is_operator = 1 ORDER BY seq",
        postgres: "SELECT id FROM users WHERE is_operator = 1 ORDER BY seq FOR UPDATE",
    };
    FIND_TO_REMOVE = {
        sqlite: "SELECT seq FROM users WHERE id = ?",
        postgres: "SELECT seq FROM users WHERE id = ? FOR UPDATE",
    };
    DELETE = "DELETE FROM users WHERE seq = ?";
    DELETE_MEMBERSHIPS = "DELETE FROM members WHERE user_seq = ?";
    DELETE_LINKS = "DELETE FROM sign_in_links WHERE user_seq = ?";
    /// No session has an empty hash.
    DELETE_SESSIONS = "DELETE FROM sessions WHERE user_seq = ? AND sha256 <> ?";
}

/// `None` if the e-mail address or the subject is taken.
pub async fn insert(store: &Store, user: &NewUser) -> Result<Option<User>, StoreError> {
    let user = user.clone();
    let making = async move |tx: &mut Tx<'_>| {
        let made = insert_in(&user, tx).await?;
        if let Some(made) = &made {
            note_made_in(made, tx).await?;
        }
        Ok(made)
    };
    store.transaction(making).await
}

pub(crate) async fn note_made_in(user: &User, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let details = json!({"email": user.email, "is_operator": user.is_operator, "issuer": user.issuer});
    let change = Change::of_user(AuditAction::UserCreate, user.id, user.created_at);
    audit_log::note_in(change.with(details), tx).await
}

/// Without a log entry; changes no row if it returns `None`.
pub(crate) async fn insert_in(user: &NewUser, tx: &mut Tx<'_>) -> Result<Option<User>, StoreError> {
    let (issuer, subject) = user.subject.clone().unzip();
    let insert = INSERT
        .bind(user.id)
        .bind(user.email.clone())
        .bind(user.password.clone())
        .bind(issuer)
        .bind(subject)
        .bind(user.is_operator)
        .bind(user.created_at);
    tx.fetch(insert).await?.first().map(read).transpose()
}

pub async fn find(store: &Store, id: UserId) -> Result<Option<User>, StoreError> {
    store.readers().fetch_optional(FIND.bind(id)).await?.as_ref().map(read).transpose()
}

/// With the hash of the password.
pub async fn find_by_email(store: &Store, email: &str) -> Result<Option<(User, Option<String>)>, StoreError> {
    let row = store.readers().fetch_optional(FIND_BY_EMAIL.bind(email)).await?;
    row.map(|row| Ok((read(&row)?, row.get("password")?))).transpose()
}

pub async fn password(store: &Store, key: i64) -> Result<Option<String>, StoreError> {
    let row = store.readers().fetch_optional(FIND_PASSWORD.bind(key)).await?;
    row.map_or(Ok(None), |row| row.get("password"))
}

pub async fn find_by_subject(store: &Store, issuer: &str, subject: &str) -> Result<Option<User>, StoreError> {
    let query = FIND_BY_SUBJECT.bind(issuer).bind(subject);
    store.readers().fetch_optional(query).await?.as_ref().map(read).transpose()
}

/// Oldest first.
pub async fn list(store: &Store) -> Result<Vec<User>, StoreError> {
    store.readers().fetch_all(LIST.unbound()).await?.iter().map(read).collect()
}

/// Changes how a user signs in; `false` if the e-mail address is taken. A new password ends every session but the one with the hash `but`,
/// and revokes links.
pub async fn set_credentials(
    store: &Store,
    key: i64,
    new: &Credentials,
    but: Option<&[u8; 32]>,
    now: i64,
) -> Result<bool, StoreError> {
    let (new, but) = (new.clone(), but.copied());
    let change = async move |tx: &mut Tx<'_>| {
        let (ends_sessions, is_moved) = (new.password.is_some(), new.email.is_some());
        let before = tx.fetch(GET.bind(key)).await?.first().map(read).transpose()?;
        let had_password = before.is_some_and(|user| user.has_password);
        let update =
            SET_CREDENTIALS.bind(new.email.clone()).bind(new.password).bind(key).bind(key).bind(new.email);
        if tx.execute(update).await? == 0 {
            return Ok(false);
        }
        if is_moved {
            note_in(AuditAction::EmailChange, key, json!({}), now, tx).await?;
        }
        if ends_sessions {
            // The first password, and the one after each link, which removed the password, are as many as there are links.
            match had_password {
                true => note_in(AuditAction::PasswordChange, key, json!({}), now, tx).await?,
                false => note_always_in(AuditAction::PasswordChange, key, json!({}), now, tx).await?,
            }
            sign_out_in(key, but.as_ref(), tx).await?;
        }
        Ok(true)
    };
    store.transaction(change).await
}

/// Links a user to a subject of an OpenID provider. Earlier means of access, a password, sessions and links, stop working. `false` if the
/// user has a subject, or another user has this one.
pub async fn link(
    store: &Store,
    key: i64,
    issuer: &str,
    subject: &str,
    now: i64,
) -> Result<bool, StoreError> {
    let link = LINK.bind(issuer).bind(subject).bind(key).bind(issuer).bind(subject);
    let issuer = issuer.to_owned();
    let change = async move |tx: &mut Tx<'_>| {
        if tx.execute(link).await? == 0 {
            return Ok(false);
        }
        // The provider has just said who it is.
        tx.act_as_user(key);
        note_in(AuditAction::UserLink, key, json!({"issuer": issuer}), now, tx).await?;
        sign_out_in(key, None, tx).await?;
        Ok(true)
    };
    store.transaction(change).await
}

/// For an operator; with `replaces`, an existing subject is replaced.
pub async fn link_by_hand(
    store: &Store,
    key: i64,
    subject: (&str, &str),
    replaces: bool,
    now: i64,
) -> Result<Linking, StoreError> {
    let find_user = FIND_BY_SUBJECT.bind(subject.0).bind(subject.1);
    let relink = RELINK.bind(subject.0).bind(subject.1).bind(key);
    let issuer = subject.0.to_owned();
    let change = async move |tx: &mut Tx<'_>| {
        if let Some(row) = tx.fetch(find_user).await?.first() {
            let user = read(row)?;
            return Ok(if user.key == key { Linking::Done } else { Linking::OtherUser(user.id) });
        }
        let rows = tx.fetch(FIND_SUBJECT.bind(key)).await?;
        let Some(row) = rows.first() else { return Ok(Linking::Unknown) };
        if !replaces && row.get::<Option<String>>("subject")?.is_some() {
            return Ok(Linking::OtherSubject);
        }
        tx.execute(relink).await?;
        note_in(AuditAction::UserLink, key, json!({"issuer": issuer}), now, tx).await?;
        sign_out_in(key, None, tx).await?;
        Ok(Linking::Done)
    };
    store.transaction(change).await
}

/// `details` is an object; the user's e-mail address is added.
pub(crate) async fn note_in(
    action: AuditAction,
    key: i64,
    details: Json,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    match change_of(action, key, details, now, tx).await? {
        Some(change) => audit_log::note_in(change, tx).await,
        None => Ok(()),
    }
}

/// Exempt from the daily limits.
pub(crate) async fn note_always_in(
    action: AuditAction,
    key: i64,
    details: Json,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    match change_of(action, key, details, now, tx).await? {
        Some(change) => audit_log::note_in(change.never_refused_if(true), tx).await,
        None => Ok(()),
    }
}

async fn change_of(
    action: AuditAction,
    key: i64,
    mut details: Json,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<Option<Change>, StoreError> {
    let rows = tx.fetch(GET.bind(key)).await?;
    let Some(user) = rows.first().map(read).transpose()? else { return Ok(None) };
    details["email"] = json!(user.email);
    Ok(Some(Change::of_user(action, user.id, now).with(details)))
}

/// Ends every session of a user but one, and revokes links; returns the number of sessions.
///
/// A change of the user that ends sessions must change the user first, as a sign-in does: so one follows the other.
pub(crate) async fn sign_out_in(
    key: i64,
    but: Option<&[u8; 32]>,
    tx: &mut Tx<'_>,
) -> Result<u64, StoreError> {
    tx.execute(DELETE_LINKS.bind(key)).await?;
    let but = but.map_or_else(Vec::new, |sha256| sha256.to_vec());
    tx.execute(DELETE_SESSIONS.bind(key).bind(but)).await
}

/// Removes a user and all means of access, with the pending invitations by the user. The last operator is not removed.
pub async fn remove(store: &Store, id: UserId, now: i64) -> Result<Removal, StoreError> {
    let removal = async move |tx: &mut Tx<'_>| {
        if let [only] = tx.fetch(LOCK_OPERATORS.unbound()).await?.as_slice()
            && only.get::<UserId>("id")? == id
        {
            return Ok(Removal::LastOperator);
        }
        let rows = tx.fetch(FIND_TO_REMOVE.bind(id)).await?;
        let Some(row) = rows.first() else { return Ok(Removal::Unknown) };
        let key: i64 = row.get("seq")?;
        note_in(AuditAction::UserRemove, key, json!({}), now, tx).await?;
        tx.execute(DELETE.bind(key)).await?;
        tx.execute(DELETE_MEMBERSHIPS.bind(key)).await?;
        withdrawals::withdraw_all_in(key, now, tx).await?;
        sign_out_in(key, None, tx).await?;
        Ok(Removal::Done)
    };
    store.transaction(removal).await
}

/// Reads `seq, id, email, has_password, issuer, is_operator, created_at, signed_in_at`.
pub(crate) fn read(row: &Row) -> Result<User, StoreError> {
    Ok(User {
        key: row.get("seq")?,
        id: row.get("id")?,
        email: row.get("email")?,
        has_password: row.get("has_password")?,
        issuer: row.get("issuer")?,
        is_operator: row.get("is_operator")?,
        created_at: row.get("created_at")?,
        signed_in_at: row.get("signed_in_at")?,
    })
}
