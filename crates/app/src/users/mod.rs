//! Users of the console: creation, list, changes, removal.

pub mod invitations;

use overnight_domain::faults::codes;
use overnight_domain::ids::UserId;
use overnight_domain::roles::Role;
use url::Url;

use super::Services;
use super::accounts::Account;
use super::errors::AppError;
use super::sessions::passwords::PasswordHolder;
pub use super::sessions::people::Standing;
use overnight_outgoing::openid;
use overnight_store::identity::sign_ups;

use super::sessions::people::{checked, draft, normalized};
use super::sessions::{self, Link, Visitor};
pub use overnight_store::identity::users::User;
use overnight_store::identity::users::{self, Credentials, Linking, NewUser, Removal};

/// Creates a user, who first signs in by link. Fails with [`AppError::Invalid`] if the e-mail address is malformed or another user's.
pub async fn create(services: &Services, email: &str, standing: Standing) -> Result<User, AppError> {
    let user = draft(services, Some(checked(email)?), standing);
    users::insert(&services.store, &user).await?.ok_or_else(taken)
}

/// Like [`create()`], with the link, and as a member of an account if one is named.
pub async fn create_with_link(
    services: &Services,
    email: &str,
    standing: Standing,
    membership: Option<(&Account, Role)>,
) -> Result<(User, Link), AppError> {
    let user = draft(services, Some(checked(email)?), standing);
    let (new, link) = sessions::draft_link(services);
    let membership = membership.map(|(account, role)| (account.key, role));
    let made = sign_ups::make(&services.store, &user, membership, new).await?;
    Ok((made.ok_or_else(taken)?, link))
}

/// A user with a password, not stored yet. Fails with [`AppError::Invalid`] if the e-mail address or password is invalid.
pub(super) async fn draft_with_password(
    services: &Services,
    email: &str,
    password: &str,
    holder: PasswordHolder,
) -> Result<NewUser, AppError> {
    let email = checked(email)?;
    let permit = services.passwords.enter(holder)?;
    let password = services.passwords.hash(permit, password, &services.ids).await?;
    Ok(NewUser { password: Some(password), ..draft(services, Some(email), Standing::Ordinary) })
}

pub async fn get(services: &Services, id: UserId) -> Result<User, AppError> {
    users::find(&services.store, id).await?.ok_or(AppError::NotFound("user"))
}

/// The user with this identifier or e-mail address.
pub async fn named(services: &Services, name: &str) -> Result<User, AppError> {
    if let Some(id) = UserId::parse(name) {
        return get(services, id).await;
    }
    let found = users::find_by_email(&services.store, &normalized(name)).await?;
    found.map(|(user, _)| user).ok_or(AppError::NotFound("user"))
}

pub async fn list(services: &Services) -> Result<Vec<User>, AppError> {
    Ok(users::list(&services.store).await?)
}

/// Removes a user and ends all sessions. Accounts stay, with their other members. Fails with [`AppError::Invalid`] for the last operator.
pub async fn remove(services: &Services, id: UserId) -> Result<(), AppError> {
    match users::remove(&services.store, id, services.clock.now()).await? {
        Removal::Done => Ok(()),
        Removal::Unknown => Err(AppError::NotFound("user")),
        Removal::LastOperator => {
            let message = "stays: an installation keeps an operator; make another first";
            Err(AppError::invalid("user", codes::CONFLICT, message))
        }
    }
}

/// Links a user to the `subject` of the OpenID provider with this issuer, as an operator decides. The user's password, link and sessions
/// end: from now on only the provider identifies the user. A user who has another subject keeps it unless `replaces`. Fails with
/// [`AppError::Invalid`] if the issuer or subject is invalid or in use, or the user keeps another subject.
pub async fn link_subject(
    services: &Services,
    user: &User,
    issuer: &str,
    subject: &str,
    replaces: bool,
) -> Result<(), AppError> {
    if Url::parse(issuer).is_err() {
        let message = "must be the address that the provider spells so";
        return Err(AppError::invalid("issuer", codes::OUT_OF_RANGE, message));
    }
    let refuse = |code, message: &str| Err(AppError::invalid("subject", code, message));
    if !openid::is_subject(subject) {
        return refuse(codes::OUT_OF_RANGE, "must have 1 to 255 bytes, and no control characters");
    }
    match users::link_by_hand(&services.store, user.key, (issuer, subject), replaces, services.clock.now())
        .await?
    {
        Linking::Done => Ok(()),
        Linking::Unknown => Err(AppError::NotFound("user")),
        Linking::OtherSubject => {
            refuse(codes::CONFLICT, "is not the one that the user has: that one is to be replaced")
        }
        Linking::OtherUser(id) => refuse(codes::CONFLICT, &format!("is that of {id} already")),
    }
}

/// Changes a visitor's e-mail address, password, or both; a new password ends all other sessions. A user with a password must enter it, so
/// that an unattended browser cannot be taken over for ever; a user who just signed in by link may have forgotten it. The service cannot
/// verify an e-mail address, and a provider's confirmation links its user: so only operators change theirs. Returns the browser's new mark
/// if the password is new. Fails with [`AppError::Invalid`] for invalid or used values, and for a wrong current password.
pub async fn change_credentials(
    services: &Services,
    visitor: &Visitor,
    current: &str,
    email: Option<&str>,
    password: Option<&str>,
) -> Result<Option<String>, AppError> {
    let email = email.map(checked).transpose()?;
    let user = &visitor.user;
    if email.is_some() && !may_change_email(user) {
        let message = "stays: the operator makes a user for another";
        return Err(AppError::invalid("email", codes::CONFLICT, message));
    }
    let known = users::password(&services.store, user.key).await?;
    if let Some(hash) = known.filter(|_| !visitor.came_by_link(services.clock.now())) {
        sessions::check_password(services, visitor, current, hash).await?;
    }
    let hash = match password {
        Some(password) => {
            let permit = services.passwords.enter(PasswordHolder::User(user.key))?;
            Some(services.passwords.hash(permit, password, &services.ids).await?)
        }
        None => None,
    };
    if hash.is_some() && email.is_none() && user.email.is_none() {
        return Err(AppError::invalid("email", codes::MISSING, "is needed beside a password"));
    }
    let credentials = Credentials { email, password: hash };
    let but = Some(&visitor.session.sha256);
    if !users::set_credentials(&services.store, user.key, &credentials, but, services.clock.now()).await? {
        return Err(taken());
    }
    Ok(credentials.password.map(|hash| sessions::mark_browser(services, user.id, &hash)))
}

/// Whether the user may set or change the e-mail address.
pub fn may_change_email(user: &User) -> bool {
    user.is_operator || user.email.is_none()
}

pub(super) fn taken() -> AppError {
    AppError::invalid("email", codes::CONFLICT, "is somebody's already")
}
