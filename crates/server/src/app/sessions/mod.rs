//! Signing in to the console, by password, by a link that works once or by an OpenID provider, and out again.

mod known_browsers;
mod links;
pub mod oidc;
mod throttle;
mod tokens;

use std::net::IpAddr;

use overnight_domain::faults::codes;
use thiserror::Error;

pub(super) use self::known_browsers::mark as mark_browser;
pub(super) use self::links::draft_link;
pub use self::links::{Link, make_link, sign_in_by_link, whose_link};
pub(super) use self::tokens::Token;
use super::errors::AppError;
use super::passwords::PasswordHolder;
use super::{ClientNetwork, ReadsFor, Services};
use crate::store;
use crate::store::identity::sessions as kept;
pub use crate::store::identity::sessions::Session;
use crate::store::identity::users as people;
pub use crate::store::identity::users::User;

/// For so long after coming by a link somebody may replace a password without knowing it, in milliseconds.
const BY_LINK_MS: i64 = 900_000;

/// How often a session notes that it is used.
const NOTED_EVERY_MS: i64 = 60_000;

/// So much of what a browser calls itself is kept, in characters.
const AGENT_CHARS_MAX: usize = 200;

/// Why somebody was not signed in.
#[derive(Debug, Error)]
pub enum SignInError {
    /// The e-mail address or the password, and nobody says which; or the link.
    #[error("{0}")]
    Refused(&'static str),
    /// It was tried too often in a row.
    #[error("this was tried too often: try again in {} s", .retry_after_ms.unsigned_abs().div_ceil(1_000))]
    TooMany {
        /// When it may be tried again, in milliseconds from now.
        retry_after_ms: i64,
    },
    /// The provider that was to say who it is refuses, in its own words.
    #[error("{provider} says: {words}")]
    ByProvider { provider: String, words: String },
    /// The provider of this name does not answer.
    #[error("{0} does not answer: try again later, or sign in in another way")]
    Away(String),
    /// What the store could not do.
    #[error(transparent)]
    App(#[from] AppError),
}

impl From<store::StoreError> for SignInError {
    fn from(error: store::StoreError) -> Self {
        Self::App(error.into())
    }
}

/// Where somebody signs in.
#[derive(Debug, Clone, Default)]
pub struct Browser {
    /// The address that it calls from, where it is known.
    pub address: Option<IpAddr>,
    pub agent: Option<String>,
    /// The mark that it keeps since somebody signed in there by password.
    pub mark: Option<String>,
}

impl Browser {
    pub(super) fn holder(&self) -> PasswordHolder {
        PasswordHolder::Network(self.address.map(ClientNetwork::of))
    }
}

/// What a browser keeps from now on in which somebody signed in.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The token of the session.
    pub token: String,
    /// The mark by which the browser is known at the next sign-in by password; `None` where it keeps what it has.
    pub mark: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Visitor {
    pub user: User,
    pub session: Session,
}

impl Visitor {
    /// Whether a link that works once let them in not long before `now`.
    pub fn came_by_link(&self, now: i64) -> bool {
        self.session.is_by_link && now - self.session.created_at < BY_LINK_MS
    }
}

/// Signs somebody in by e-mail address and password. A browser in which the same user signed in before has a count of failures of
/// its own: whoever guesses elsewhere keeps it out for no moment.
///
/// # Errors
///
/// [`SignInError::Refused`], whether the address or the password is wrong; [`SignInError::TooMany`].
pub async fn sign_in(
    services: &Services,
    email: &str,
    password: &str,
    browser: Browser,
) -> Result<SignedIn, SignInError> {
    // A browser that is known takes none of its network's permits, which others of the network may hold.
    let (found, known) = match browser.mark.as_deref() {
        Some(mark) => {
            let found = find_user(services, email).await?;
            let known = found.number_of(mark);
            (Some(found), known)
        }
        None => (None, None),
    };
    let user_key = found.as_ref().and_then(|found| found.user.as_ref()).map(|user| user.key);
    let holder = user_key.filter(|_| known.is_some()).map(PasswordHolder::User);
    let permit = services.passwords.enter(holder.unwrap_or_else(|| browser.holder()))?;
    let Found { user, hash } = match found {
        Some(found) => found,
        None => find_user(services, email).await?,
    };
    let subjects = match known {
        Some(number) => vec![throttle::known_browser(&number)],
        None => throttle::subjects(email, browser.address),
    };
    let forgiven = throttle::count(services, &subjects).await?;
    let is_right = services.passwords.is(permit, password, hash.clone(), &services.ids).await?;
    let (Some(user), Some(hash)) = (user.filter(|_| is_right), hash) else { return Err(WRONG) };
    let (token, session) = draft(services, browser.clone(), CameBy::Identity);
    let _turn = services.passwords.turn().await;
    // Whoever changed the password meanwhile has ended what it let in.
    let insert = kept::insert_by_password(&services.store, user.key, &session, &hash, &forgiven);
    if !ReadsFor::Service.scope(insert).await? {
        return Err(WRONG);
    }
    note_begun(&user, &browser);
    Ok(SignedIn { token, mark: Some(mark_browser(services, user.id, &hash)) })
}

/// A user and the hash of their password, as far as there are such.
struct Found {
    user: Option<User>,
    hash: Option<String>,
}

impl Found {
    /// The number of a browser with a mark of this user.
    fn number_of(&self, mark: &str) -> Option<known_browsers::BrowserNumber> {
        known_browsers::read(mark, self.user.as_ref()?.id, self.hash.as_deref()?)
    }
}

async fn find_user(services: &Services, email: &str) -> Result<Found, SignInError> {
    let email = crate::app::people::normalized(email);
    let (user, hash) = people::find_by_email(&services.store, &email).await?.unzip();
    Ok(Found { user, hash: hash.flatten() })
}

const WRONG: SignInError = SignInError::Refused("the e-mail address or the password is wrong");

/// Whether a signed-in user's password is `password`: guessed as often as on the sign-in page, and counted for the session, so that
/// nobody who has none keeps the user from it.
pub(super) async fn check_password(
    services: &Services,
    visitor: &Visitor,
    password: &str,
    hash: String,
) -> Result<(), AppError> {
    let wrong = |message: &str| AppError::invalid("current password", codes::WRONG, message);
    let permit = services.passwords.enter(PasswordHolder::User(visitor.user.key))?;
    let subject = throttle::session(&visitor.session.sha256);
    let forgiven = match throttle::count(services, &[subject]).await {
        Err(SignInError::App(error)) => return Err(error),
        Err(refused) => return Err(wrong(&format!("was not looked at: {refused}"))),
        Ok(forgiven) => forgiven,
    };
    if !services.passwords.is(permit, password, Some(hash), &services.ids).await? {
        return Err(wrong("is wrong"));
    }
    throttle::forgive(services, &forgiven).await
}

/// What a user has shown who signs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CameBy {
    /// A link, which somebody else made for them.
    Link,
    /// A password, or a provider's word.
    Identity,
}

/// Signs a user in who has shown who they are.
pub(super) async fn begin(
    services: &Services,
    user: &User,
    browser: Browser,
    came_by: CameBy,
) -> Result<String, AppError> {
    let (token, session) = draft(services, browser.clone(), came_by);
    kept::insert(&services.store, user.key, &session).await?;
    note_begun(user, &browser);
    Ok(token)
}

/// The token that a browser is to show, and its session, which is not stored yet.
pub(super) fn draft(services: &Services, browser: Browser, came_by: CameBy) -> (String, Session) {
    let now = services.clock.now();
    let token = Token::new(services.ids.random());
    let session = Session {
        sha256: token.sha256(),
        created_at: now,
        seen_at: now,
        expires_at: now.saturating_add(services.config().console.session.0),
        is_by_link: came_by == CameBy::Link,
        agent: browser
            .agent
            .map(|agent| agent.chars().filter(|it| !it.is_control()).take(AGENT_CHARS_MAX).collect()),
    };
    (token.text(), session)
}

pub(super) fn note_begun(user: &User, browser: &Browser) {
    tracing::info!(user = %user.id, address = ?browser.address, "user signed in to the console");
}

/// Whoever shows this token. What a page shows by itself does not keep a browser signed in: `is_active` says whether
/// somebody asked for it.
pub async fn find(services: &Services, token: &str, is_active: bool) -> Result<Option<Visitor>, AppError> {
    let Some(token) = Token::parse(token) else { return Ok(None) };
    let now = services.clock.now();
    let found = kept::find(&services.store, &token.sha256()).await?;
    let is_live = |session: &Session| is_live(services, session, now);
    let Some((session, user)) = found.filter(|(session, _)| is_live(session)) else { return Ok(None) };
    // A minute of `session_idle` is not to be lost between two notes.
    let noted_every_ms = NOTED_EVERY_MS.min(services.config().console.session_idle.0 / 4);
    if is_active && now - session.seen_at >= noted_every_ms {
        // A store that takes no writes shows what there is all the same.
        if let Err(error) = kept::touch(&services.store, &session.sha256, now).await {
            tracing::debug!(%error, "session use not stored");
        }
    }
    Ok(Some(Visitor { user, session }))
}

pub async fn sign_out(services: &Services, visitor: &Visitor) -> Result<(), AppError> {
    Ok(kept::remove(&services.store, &visitor.session.sha256).await?)
}

/// Ends every session of a user, or every one but `but`, and takes back what would sign them in by link.
pub async fn sign_out_everywhere(
    services: &Services,
    user: &User,
    but: Option<&Session>,
) -> Result<u64, AppError> {
    Ok(kept::remove_others(
        &services.store,
        user.key,
        but.map(|session| &session.sha256),
        services.clock.now(),
    )
    .await?)
}

/// Where a user is signed in, the newest first.
pub async fn list(services: &Services, user: &User) -> Result<Vec<Session>, AppError> {
    let now = services.clock.now();
    let mut sessions = kept::list(&services.store, user.key).await?;
    sessions.retain(|session| is_live(services, session, now));
    Ok(sessions)
}

fn is_live(services: &Services, session: &Session, now: i64) -> bool {
    let idle_ms = services.config().console.session_idle.0;
    session.expires_at > now && session.seen_at.saturating_add(idle_ms) > now
}
