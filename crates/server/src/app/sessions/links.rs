//! Links that sign somebody in once: the first start's, that of a user whom an operator made, and that of somebody
//! who forgot the password.

use super::tokens::Token;
use super::{Browser, CameBy, SignInError, draft, note_begun};
use crate::app::Services;
use crate::app::errors::AppError;
use crate::store::identity::sessions::{self as kept, NewLink};
use crate::store::identity::users::User;

/// How long a link works, in milliseconds.
const VALID_MS: i64 = 3 * 86_400_000;

const REFUSED: SignInError =
    SignInError::Refused("this link has been used, has ended, or was replaced by a newer one");

/// A link that signs a user in once.
#[derive(Debug, Clone)]
pub struct Link {
    /// Where it leads. Whoever has it is signed in: for the user alone.
    pub url: String,
    /// Until when it works, in milliseconds.
    pub expires_at: i64,
}

/// Makes a link for a user; one that was made before works no more.
pub async fn make_link(services: &Services, user: &User) -> Result<Link, AppError> {
    let (new, link) = draft_link(services);
    kept::replace_link(&services.store, user.key, new).await?;
    Ok(link)
}

/// A link that is not stored yet, with what is to be stored of it.
pub(in crate::app) fn draft_link(services: &Services) -> (NewLink, Link) {
    let now = services.clock.now();
    let token = Token::new(services.ids.random());
    let expires_at = now.saturating_add(VALID_MS);
    let path = format!("/console/sign-in/link/{}", token.text());
    let link = Link { url: services.config().public_address(&path), expires_at };
    (NewLink { sha256: token.sha256(), created_at: now, expires_at }, link)
}

/// Whom a link would sign in. Looking does not use it up: programs look at links before people do.
///
/// # Errors
///
/// [`SignInError::Refused`] for one that works no more.
pub async fn whose_link(services: &Services, token: &str) -> Result<User, SignInError> {
    let token = Token::parse(token).ok_or(REFUSED)?;
    kept::find_link(&services.store, &token.sha256(), services.clock.now()).await?.ok_or(REFUSED)
}

/// Signs in whom the link is for, and uses it up; the token that the browser is to show from now on, and who it is.
///
/// # Errors
///
/// [`SignInError::Refused`] for one that works no more.
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
