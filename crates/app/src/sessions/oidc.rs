//! Signing in by an OpenID provider. Users are found by the provider's subject or by an e-mail address that the provider has verified; if
//! the settings allow sign-up, others become new users.

use overnight_domain::money::Credits;

use super::people::{self, Standing};
use super::{Browser, CameBy, SignInError};
use crate::Services;
use crate::accounts::{self, Start};
use crate::errors::AppError;
pub use overnight_outgoing::openid::Returned;
use overnight_outgoing::openid::{OpenId, OpenIdError, Person, SignInSecret};
use overnight_store::identity::users::{self, NewUser, User};
use overnight_store::identity::{invitations, sign_ups};

/// The provider's redirect URI.
const RETURN_PATH: &str = "/console/sign-in/oidc/callback";

const NOT_BEGUN: SignInError =
    SignInError::Refused("this sign-in was not begun in this browser, or too long ago: begin again");

/// The display name of the provider, if there is one.
pub fn name(services: &Services) -> Option<&str> {
    services.openid.as_deref().map(OpenId::name)
}

/// Begins a sign-in: the address to which the browser is redirected, and the secret that it keeps until it returns. Fails with
/// [`SignInError::Away`] if the provider is unreachable, and with [`SignInError::Refused`] if there is none.
pub async fn begin(services: &Services) -> Result<(String, String), SignInError> {
    let provider = provider(services)?;
    let secret = SignInSecret::new(services.ids.random());
    let url = provider.begin(&secret, &services.config().public_address(RETURN_PATH)).await;
    Ok((url.map_err(|error| told(provider, &error))?, secret.text()))
}

/// Whether `secret` belongs to the sign-in with this state.
pub fn is_of(secret: &str, state: &str) -> bool {
    SignInSecret::parse(secret).is_some_and(|secret| secret.is_state(state))
}

/// Signs in the user who returns to the browser with the `secret` of this sign-in, and returns the new session. Fails with
/// [`SignInError::Refused`], [`SignInError::ByProvider`] or [`SignInError::Away`].
pub async fn finish(
    services: &Services,
    secret: Option<&str>,
    returned: &Returned,
    browser: Browser,
) -> Result<String, SignInError> {
    let provider = provider(services)?;
    // Checked before any returned text is shown: otherwise a link could make the sign-in page say anything.
    let secret = secret.and_then(SignInSecret::parse).ok_or(NOT_BEGUN)?;
    let person = provider.finish(&secret, returned, &services.config().public_address(RETURN_PATH)).await;
    let person = person.map_err(|error| told(provider, &error))?;
    let user = recognized(services, person).await?;
    Ok(super::begin(services, &user, browser, CameBy::Identity).await?)
}

fn provider(services: &Services) -> Result<&OpenId, SignInError> {
    services.openid.as_deref().ok_or(SignInError::Refused("nobody signs in here by another service"))
}

/// The log has the cause; the user gets advice.
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

/// The message for an unknown person who may not sign up. The log has the details that an operator needs to link them to a user.
fn unknown(person: &Person, why: &'static str) -> SignInError {
    let (issuer, subject) = (&person.issuer, &person.subject);
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

/// Links the user with the person's verified e-mail address. The address was never verified before, so the user's existing credentials and
/// sessions end.
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

/// A new user: a member of the accounts that invite them, or else of a new account. Of two browsers at the same time one signs up, and the
/// other signs in.
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
