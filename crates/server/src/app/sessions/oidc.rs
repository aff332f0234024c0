//! Signing in by an OpenID provider: who comes back from there is known by the provider's name of them, by an e-mail address that
//! the provider has verified, or, where the settings let strangers in, not yet.

use overnight_domain::money::Credits;

use super::{Browser, CameBy, SignInError};
use crate::app::Services;
use crate::app::accounts::{self, Start};
use crate::app::errors::AppError;
use crate::app::people::{self, Standing};
pub use crate::openid::Returned;
use crate::openid::{OpenId, OpenIdError, Person, SignInSecret};
use crate::store::identity::users::{self, NewUser, User};
use crate::store::identity::{invitations, sign_ups};
use crate::transport::printable;

/// Where the provider sends browsers back to.
const RETURN_PATH: &str = "/console/sign-in/oidc/callback";

const NOT_BEGUN: SignInError =
    SignInError::Refused("this sign-in was not begun in this browser, or too long ago: begin again");

/// What people call the provider, if there is one.
pub fn name(services: &Services) -> Option<&str> {
    services.openid.as_deref().map(OpenId::name)
}

/// Begins a sign-in: where the browser is sent, and the secret that it keeps until it is back.
///
/// # Errors
///
/// [`SignInError::Away`] where the provider does not answer; [`SignInError::Refused`] where there is none.
pub async fn begin(services: &Services) -> Result<(String, String), SignInError> {
    let provider = provider(services)?;
    let secret = SignInSecret::new(services.ids.random());
    let url = provider.begin(&secret, &services.config().public_address(RETURN_PATH)).await;
    Ok((url.map_err(|error| told(provider, &error))?, secret.text()))
}

/// Whether the sign-in that `secret` was made for is the one of this state.
pub fn is_of(secret: &str, state: &str) -> bool {
    SignInSecret::parse(secret).is_some_and(|secret| secret.is_state(state))
}

/// Signs in who comes back to the browser that keeps the `secret` of this sign-in, if it does; the token that it is to show from
/// now on.
///
/// # Errors
///
/// [`SignInError::Refused`] and [`SignInError::ByProvider`] where nobody is signed in; [`SignInError::Away`].
pub async fn finish(
    services: &Services,
    secret: Option<&str>,
    returned: &Returned,
    browser: Browser,
) -> Result<String, SignInError> {
    let provider = provider(services)?;
    // Before anything that was returned is shown: otherwise a link could have the sign-in page say anything.
    let secret = secret.and_then(SignInSecret::parse).ok_or(NOT_BEGUN)?;
    let person = provider.finish(&secret, returned, &services.config().public_address(RETURN_PATH)).await;
    let person = person.map_err(|error| told(provider, &error))?;
    let user = recognized(services, person).await?;
    Ok(super::begin(services, &user, browser, CameBy::Identity).await?)
}

fn provider(services: &Services) -> Result<&OpenId, SignInError> {
    services.openid.as_deref().ok_or(SignInError::Refused("nobody signs in here by another service"))
}

/// What went wrong is for the operator; whoever signs in is told what to do.
fn told(provider: &OpenId, error: &OpenIdError) -> SignInError {
    tracing::warn!(%error, provider = provider.name(), "OpenID sign-in failed");
    match error {
        OpenIdError::Declined(words) => {
            SignInError::ByProvider { provider: provider.name().to_owned(), words: words.clone() }
        }
        error if error.is_passing() => SignInError::Away(provider.name().to_owned()),
        _ => SignInError::Refused(
            "that did not work: begin again; if it stays so, the operator's log says why",
        ),
    }
}

/// What somebody is told who is not known and not let in. The log has what an operator needs to link them to a user by hand.
fn unknown(person: &Person, why: &'static str) -> SignInError {
    let (issuer, subject) = (&person.issuer, printable(&person.subject));
    tracing::info!(%issuer, %subject, why, "OpenID sign-in of somebody who is not known");
    SignInError::Refused(why)
}

async fn recognized(services: &Services, person: Person) -> Result<User, SignInError> {
    if let Some(user) = users::find_by_subject(&services.store, &person.issuer, &person.subject).await? {
        return Ok(user);
    }
    let Some(email) = &person.email else {
        return Err(unknown(
            &person,
            "you are not known here yet, and your e-mail address is not verified where you signed in",
        ));
    };
    let email = people::normalized(email);
    if let Some((user, _)) = users::find_by_email(&services.store, &email).await? {
        return linked(services, user, person).await;
    }
    if !invitations::is_invited(&services.store, &email, services.clock.now()).await?
        && !services.config().console.oidc.as_ref().is_some_and(|oidc| oidc.sign_up)
    {
        return Err(unknown(
            &person,
            "nobody invited you: an owner of an account can, by the e-mail address that you signed in with",
        ));
    }
    Ok(signed_up(services, email, person).await?)
}

/// The user whose e-mail address the person has shown to be theirs. Nobody had to show that before: so what let somebody in as
/// this user until now does so no more.
async fn linked(services: &Services, user: User, person: Person) -> Result<User, SignInError> {
    if !users::link(&services.store, user.key, &person.issuer, &person.subject, services.clock.now()).await? {
        return Err(unknown(
            &person,
            "your e-mail address belongs to somebody who signs in by another name: the operator can remove them",
        ));
    }
    tracing::info!(user = %user.id, issuer = %person.issuer, "user linked to OpenID provider");
    Ok(user)
}

/// A new user: a member of the accounts that invite them, or else with one of their own. Of two browsers at once one signs up,
/// and the other signs in.
async fn signed_up(services: &Services, email: String, person: Person) -> Result<User, AppError> {
    let start = Start { is_activated: false, credits: Credits::ZERO };
    let account = accounts::draft(services, &email, start)?;
    let user = people::draft(services, Some(people::checked(&email)?), Standing::Ordinary);
    let subject = Some((person.issuer.clone(), person.subject.clone()));
    let Some((user, own)) =
        sign_ups::sign_up(&services.store, &NewUser { subject, ..user }, &account).await?
    else {
        let found = users::find_by_subject(&services.store, &person.issuer, &person.subject).await?;
        return found.ok_or(AppError::NotFound("user"));
    };
    match own {
        Some(own) => tracing::info!(user = %user.id, account = %own.id, "user signed up"),
        None => {
            tracing::info!(user = %user.id, "invited user linked to OpenID provider");
        }
    }
    Ok(user)
}
