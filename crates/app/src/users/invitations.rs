//! Invitations to an account. The holder of the link joins as a new user with the invited e-mail address, or as the signed-in user. The
//! service cannot verify addresses, and a provider's confirmation of one links its user later. Therefore a user whose address is not
//! verified joins only if an owner invited this address: the address's owner finds no other memberships.

use overnight_domain::faults::codes;
use overnight_domain::roles::Role;
use overnight_store::identity::invitations;

use super::User;
use crate::Services;
use crate::accounts::{Account, members};
use crate::errors::AppError;
use crate::sessions::{self, Browser, CameBy, Link, SignInError, SignedIn, Token, people};
pub use overnight_store::identity::invitations::Invitation;
use overnight_store::identity::sign_ups::{self, Joining};

/// The lifetime of an invitation, in milliseconds.
const VALID_MS: i64 = 7 * 86_400_000;

/// The maximum pending invitations of an account.
const WAITING_MAX: i64 = 100;

const REFUSED: SignInError = SignInError::Refused("this invitation was used or withdrawn, or has ended");

const FOR_ANOTHER: SignInError =
    SignInError::Refused("this invitation is for another e-mail address than yours");

/// Makes an invitation link, which the inviting owner hands over; an earlier one for the same e-mail address becomes invalid. Fails with
/// [`AppError::Invalid`] if the address is malformed or a member's, or too many invitations are pending.
pub async fn invite(
    services: &Services,
    account: &Account,
    email: &str,
    role: Role,
) -> Result<Link, AppError> {
    let email = people::checked(email)?;
    let is_member = |member: &members::Member| member.user.email.as_ref() == Some(&email);
    if members::list(services, account).await?.iter().any(is_member) {
        return Err(AppError::invalid("email", codes::CONFLICT, "is a member's already"));
    }
    let (now, token) = (services.clock.now(), Token::new(services.ids.random()));
    let invitation = Invitation { email, role, expires_at: now.saturating_add(VALID_MS) };
    let (store, sha256) = (&services.store, token.sha256());
    if !invitations::insert(store, account.key, &invitation, &sha256, now, WAITING_MAX).await? {
        let message = format!("is one too many: {WAITING_MAX} invitations wait; withdraw some");
        return Err(AppError::invalid("email", codes::OUT_OF_RANGE, &message));
    }
    tracing::info!(account = %account.id, role = role.as_str(), "user invited to account");
    let path = format!("/console/invitation/{}", token.text());
    Ok(Link { url: services.config().public_address(&path), expires_at: invitation.expires_at })
}

/// The pending invitations of an account.
pub async fn list(services: &Services, account: &Account) -> Result<Vec<Invitation>, AppError> {
    Ok(invitations::list(&services.store, account.key, services.clock.now()).await?)
}

/// Withdraws an invitation: its link becomes invalid.
pub async fn withdraw(services: &Services, account: &Account, email: &str) -> Result<(), AppError> {
    Ok(invitations::remove(&services.store, account.key, email, services.clock.now()).await?)
}

/// The account and invitation of a link. Fails with [`SignInError::Refused`] if the link is no longer valid.
pub async fn get(services: &Services, token: &str) -> Result<(Account, Invitation), SignInError> {
    let token = Token::parse(token).ok_or(REFUSED)?;
    invitations::find(&services.store, &token.sha256(), services.clock.now()).await?.ok_or(REFUSED)
}

/// Whether a user may accept an invitation: one to the user's own e-mail address, or any if a provider has identified the user. Operators
/// are owners of every account anyway.
pub fn may_accept(user: &User, invitation: &Invitation) -> bool {
    user.issuer.is_some() || user.is_operator || user.email.as_ref() == Some(&invitation.email)
}

/// Makes a user a member, uses the invitation up, and returns the account. Fails with [`SignInError::Refused`] if the link is no longer
/// valid, or the user may not accept it.
pub async fn accept(services: &Services, token: &str, user: &User) -> Result<Account, SignInError> {
    let (account, invitation) = get(services, token).await?;
    if !may_accept(user, &invitation) {
        return Err(FOR_ANOTHER);
    }
    let sha256 = Token::parse(token).ok_or(REFUSED)?.sha256();
    if !invitations::accept(&services.store, &sha256, user.key, services.clock.now()).await? {
        return Err(REFUSED);
    }
    note_joined(&account, user, invitation.role);
    Ok(account)
}

/// Creates a member who signs in with the invited e-mail address and this password. Returns the session and the account. Fails with
/// [`SignInError::Refused`] if the link is no longer valid, and with [`AppError::Invalid`] if the address belongs to a user or the password
/// is invalid.
pub async fn join(
    services: &Services,
    token: &str,
    password: &str,
    browser: Browser,
) -> Result<(SignedIn, Account), SignInError> {
    let (account, invitation) = get(services, token).await?;
    let sha256 = Token::parse(token).ok_or(REFUSED)?.sha256();
    let user = super::draft_with_password(services, &invitation.email, password, browser.holder()).await?;
    let mark = user.password.as_deref().map(|hash| sessions::mark_browser(services, user.id, hash));
    let (token, session) = sessions::draft(services, browser.clone(), CameBy::Identity);
    let user = match sign_ups::join(&services.store, &user, &sha256, &session).await? {
        Joining::Joined(user) => user,
        Joining::Ended => return Err(REFUSED),
        Joining::Taken => return Err(super::taken().into()),
    };
    note_joined(&account, &user, invitation.role);
    sessions::note_begun(&user, &browser);
    Ok((SignedIn { token, mark }, account))
}

fn note_joined(account: &Account, user: &User, role: Role) {
    tracing::info!(account = %account.id, user = %user.id, role = role.as_str(), "user joined account");
}
