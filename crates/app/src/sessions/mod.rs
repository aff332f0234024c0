//! Signing in to the console, by password, by a one-time link or by an OpenID provider, and signing out.

mod known_browsers;
mod links;
pub mod oidc;
pub(crate) mod passwords;
pub(crate) mod people;
mod throttle;
mod tokens;

use std::net::IpAddr;

use overnight_domain::faults::codes;
use overnight_domain::text;
use thiserror::Error;

pub(super) use self::known_browsers::mark as mark_browser;
pub(super) use self::links::draft_link;
pub use self::links::{Link, make_link, sign_in_by_link, whose_link};
pub(super) use self::tokens::Token;
use overnight_store as store;
use overnight_store::identity::sessions as kept;

use self::passwords::PasswordHolder;
use super::errors::AppError;
use super::{ClientNetwork, ReadsFor, Services};
pub use overnight_store::identity::sessions::Session;
pub use overnight_store::identity::users::User;

/// After sign-in by link, a user may replace the password without knowing it for this time, in milliseconds.
const BY_LINK_MS: i64 = 900_000;

/// The interval at which use of a session is stored.
const NOTED_EVERY_MS: i64 = 60_000;

/// The characters kept of a browser's `User-Agent`.
const AGENT_CHARS_MAX: usize = 200;

/// Why a sign-in failed.
#[derive(Debug, Error)]
pub enum SignInError {
    /// A wrong link, or a wrong e-mail address or password; the message does not say which of these two.
    #[error("{0}")]
    Refused(&'static str),
    /// Too many failures in a row.
    #[error("this was tried too often: try again in {} s", .retry_after_ms.unsigned_abs().div_ceil(1_000))]
    TooMany { retry_after_ms: i64 },
    /// The provider refused, in its own words.
    #[error("{provider} says: {words}")]
    ByProvider { provider: String, words: String },
    /// The provider of this name is unreachable.
    #[error("{0} does not answer: try again later, or sign in in another way")]
    Away(String),
    #[error(transparent)]
    App(#[from] AppError),
}

impl From<store::StoreError> for SignInError {
    fn from(error: store::StoreError) -> Self {
        Self::App(error.into())
    }
}

/// The browser of a sign-in.
#[derive(Debug, Clone, Default)]
pub struct Browser {
    /// The client's address, if it is known.
    pub address: Option<IpAddr>,
    pub agent: Option<String>,
    /// The mark that it keeps since a sign-in by password.
    pub mark: Option<String>,
}

impl Browser {
    pub(super) fn holder(&self) -> PasswordHolder {
        PasswordHolder::Network(self.address.map(ClientNetwork::of))
    }
}

/// The secrets of a browser after a sign-in.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The token of the session.
    pub token: String,
    /// Identifies the browser at the next sign-in by password; `None` keeps the current mark.
    pub mark: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Visitor {
    pub user: User,
    pub session: Session,
}

impl Visitor {
    /// Whether the session began by a one-time link not long before `now`.
    pub fn came_by_link(&self, now: i64) -> bool {
        self.session.is_by_link && now - self.session.created_at < BY_LINK_MS
    }
}

/// Signs a user in by e-mail address and password. A browser in which the user signed in before has its own count of failures, so guesses
/// elsewhere do not lock it out. [`SignInError::Refused`] does not reveal whether the address or the password is wrong.
pub async fn sign_in(
    services: &Services,
    email: &str,
    password: &str,
    browser: Browser,
) -> Result<SignedIn, SignInError> {
    // A known browser takes none of its network's permits, which others there may hold.
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
    // A change of the password meanwhile has ended the sessions of the old one.
    let insert = kept::insert_by_password(&services.store, user.key, &session, &hash, &forgiven);
    if !ReadsFor::Service.scope(insert).await? {
        return Err(WRONG);
    }
    note_begun(&user, &browser);
    Ok(SignedIn { token, mark: Some(mark_browser(services, user.id, &hash)) })
}

/// A user and the hash of their password, if they exist.
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
    let email = people::normalized(email);
    let (user, hash) = store::identity::users::find_by_email(&services.store, &email).await?.unzip();
    Ok(Found { user, hash: hash.flatten() })
}

const WRONG: SignInError = SignInError::Refused("the e-mail address or the password is wrong");

/// Whether `password` is a signed-in user's password. Guesses are limited as on the sign-in page, and counted per session, so that others
/// cannot lock the user out.
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

/// How a user proved their identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CameBy {
    /// A link, which someone else made for them.
    Link,
    /// A password, or the provider's confirmation.
    Identity,
}

/// Signs in a user whose identity is proved.
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

/// A browser's token, and its session, which is not stored yet.
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
            .map(|agent| agent.chars().filter(|it| !text::misleads(*it)).take(AGENT_CHARS_MAX).collect()),
    };
    (token.text(), session)
}

pub(super) fn note_begun(user: &User, browser: &Browser) {
    tracing::info!(user = %user.id, address = ?browser.address, "user signed in to the console");
}

/// The user of this token. Requests that a page makes by itself do not prolong a session: `is_active` says whether a person acted.
pub async fn find(services: &Services, token: &str, is_active: bool) -> Result<Option<Visitor>, AppError> {
    let Some(token) = Token::parse(token) else { return Ok(None) };
    let now = services.clock.now();
    let found = kept::find(&services.store, &token.sha256()).await?;
    let is_live = |session: &Session| is_live(services, session, now);
    let Some((session, user)) = found.filter(|(session, _)| is_live(session)) else { return Ok(None) };
    // A minute between two stores would be too long for a short `session_idle`.
    let noted_every_ms = NOTED_EVERY_MS.min(services.config().console.session_idle.0 / 4);
    if is_active && now - session.seen_at >= noted_every_ms {
        // If the store accepts no writes, pages are still shown.
        if let Err(error) = kept::touch(&services.store, &session.sha256, now).await {
            tracing::debug!(%error, "session use not stored");
        }
    }
    Ok(Some(Visitor { user, session }))
}

pub async fn sign_out(services: &Services, visitor: &Visitor) -> Result<(), AppError> {
    Ok(kept::remove(&services.store, &visitor.session.sha256).await?)
}

/// Ends every session of a user except `but`, and invalidates the user's sign-in link.
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

/// The sessions of a user, newest first.
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
