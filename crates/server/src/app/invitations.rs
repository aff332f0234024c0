//! Invitations to an account. The holder of the link joins as a new user with the invited e-mail address, or as the signed-in user.
//! Nobody here can tell whose an address is, and a provider's word about one links its user later. Therefore a user whose address
//! is not verified joins only where an owner invited this address: the address's owner finds no other memberships.

use overnight_domain::faults::codes;
use overnight_domain::roles::Role;

use super::accounts::Account;
use super::errors::AppError;
use super::people;
use super::sessions::{self, Browser, CameBy, Link, SignInError, SignedIn, Token};
use super::users::{self, User};
use super::{Services, members};
use crate::store::identity::invitations;
pub use crate::store::identity::invitations::Invitation;
use crate::store::identity::sign_ups::{self, Joining};

/// How long an invitation works, in milliseconds.
const VALID_MS: i64 = 7 * 86_400_000;

/// How many of an account may wait.
const WAITING_MAX: i64 = 100;

const REFUSED: SignInError = SignInError::Refused("this invitation was used or withdrawn, or has ended");

const FOR_ANOTHER: SignInError =
    SignInError::Refused("this invitation is for another e-mail address than yours");

/// Makes a link by which somebody becomes a member, which is for whoever invites to hand over; one that was made before for the
/// same e-mail address works no more.
///
/// # Errors
///
/// [`AppError::Invalid`] for an e-mail address that is none or a member's, and where very many invitations wait.
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

/// The invitations of an account that wait.
pub async fn list(services: &Services, account: &Account) -> Result<Vec<Invitation>, AppError> {
    Ok(invitations::list(&services.store, account.key, services.clock.now()).await?)
}

/// Takes an invitation back: its link works no more.
pub async fn withdraw(services: &Services, account: &Account, email: &str) -> Result<(), AppError> {
    Ok(invitations::remove(&services.store, account.key, email, services.clock.now()).await?)
}

/// To what a link invites.
///
/// # Errors
///
/// [`SignInError::Refused`] for one that works no more.
pub async fn get(services: &Services, token: &str) -> Result<(Account, Invitation), SignInError> {
    let token = Token::parse(token).ok_or(REFUSED)?;
    invitations::find(&services.store, &token.sha256(), services.clock.now()).await?.ok_or(REFUSED)
}

/// Whether a user may accept an invitation: one to the user's own e-mail address, or any where a provider has said who the user
/// is. Operators are owners of every account anyway.
pub fn may_accept(user: &User, invitation: &Invitation) -> bool {
    user.issuer.is_some() || user.is_operator || user.email.as_ref() == Some(&invitation.email)
}

/// Makes a user a member, and uses the invitation up; to which account.
///
/// # Errors
///
/// [`SignInError::Refused`] for a link that works no more, and for one that the user may not accept.
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

/// Makes a new user a member, who signs in by the invited e-mail address and this password from now on; what the
/// browser is to keep, and to which account.
///
/// # Errors
///
/// [`SignInError::Refused`] for a link that works no more; [`AppError::Invalid`] where the address is somebody's already, and for
/// a password that cannot be.
pub async fn join(
    services: &Services,
    token: &str,
    password: &str,
    browser: Browser,
) -> Result<(SignedIn, Account), SignInError> {
    let (account, invitation) = get(services, token).await?;
    let sha256 = Token::parse(token).ok_or(REFUSED)?.sha256();
    let user = users::draft_with_password(services, &invitation.email, password, browser.holder()).await?;
    let mark = user.password.as_deref().map(|hash| sessions::mark_browser(services, user.id, hash));
    let (token, session) = sessions::draft(services, browser.clone(), CameBy::Identity);
    let user = match sign_ups::join(&services.store, &user, &sha256, &session).await? {
        Joining::Joined(user) => user,
        Joining::Ended => return Err(REFUSED),
        Joining::Taken => return Err(users::taken().into()),
    };
    note_joined(&account, &user, invitation.role);
    sessions::note_begun(&user, &browser);
    Ok((SignedIn { token, mark }, account))
}

fn note_joined(account: &Account, user: &User, role: Role) {
    tracing::info!(account = %account.id, user = %user.id, role = role.as_str(), "user joined account");
}
