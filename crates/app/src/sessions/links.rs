//! One-time sign-in links: for the first start, for a user created by an operator, and for a forgotten password.

use overnight_store::identity::sessions::{self as kept, NewLink};
use overnight_store::identity::users::User;

use super::tokens::Token;
use super::{Browser, CameBy, SignInError, draft, note_begun};
use crate::Services;
use crate::errors::AppError;

/// The lifetime of a link, in milliseconds.
const VALID_MS: i64 = 3 * 86_400_000;

const REFUSED: SignInError =
    SignInError::Refused("this link has been used, has ended, or was replaced by a newer one");

#[derive(Debug, Clone)]
pub struct Link {
    /// Anyone with the link can sign in: it is for the user only.
    pub url: String,
    /// In milliseconds.
    pub expires_at: i64,
}

/// Makes a link for a user; an earlier one becomes invalid.
pub async fn make_link(services: &Services, user: &User) -> Result<Link, AppError> {
    let (new, link) = draft_link(services);
    kept::replace_link(&services.store, user.key, new).await?;
    Ok(link)
}

/// A link that is not stored yet, and its row.
pub(crate) fn draft_link(services: &Services) -> (NewLink, Link) {
    let now = services.clock.now();
    let token = Token::new(services.ids.random());
    let expires_at = now.saturating_add(VALID_MS);
    let path = format!("/console/sign-in/link/{}", token.text());
    let link = Link { url: services.config().public_address(&path), expires_at };
    (NewLink { sha256: token.sha256(), created_at: now, expires_at }, link)
}

/// The user whom a link would sign in. The link stays valid, because programs open links before people do. Fails with
/// [`SignInError::Refused`] if it is no longer valid.
pub async fn whose_link(services: &Services, token: &str) -> Result<User, SignInError> {
    let token = Token::parse(token).ok_or(REFUSED)?;
    kept::find_link(&services.store, &token.sha256(), services.clock.now()).await?.ok_or(REFUSED)
}

/// Signs in the link's user, and uses the link up. Returns the session and the user. Fails with [`SignInError::Refused`] if the link is no
/// longer valid.
pub async fn sign_in_by_link(
    services: &Services,
    token: &str,
    browser: Browser,
) -> Result<(String, User), SignInError> {
    let user = whose_link(services, token).await?;
    let link = Token::parse(token).ok_or(REFUSED)?;
    let (token, session) = draft(services, browser.clone(), CameBy::Link);
    if !kept::use_link(&services.store, &link.sha256(), &session).await? {
        return Err(REFUSED);
    }
    note_begun(&user, &browser);
    Ok((token, user))
}
