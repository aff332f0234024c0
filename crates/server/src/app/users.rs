//! Those who sign in to the console: made, listed, changed, removed.

use overnight_domain::faults::codes;
use overnight_domain::ids::UserId;

use super::Services;
use super::errors::AppError;
use super::sessions::{self, Visitor};
pub use crate::store::users::User;
use crate::store::users::{self, Credentials, NewUser};

/// The longest e-mail address, in bytes.
const EMAIL_BYTES_MAX: usize = 254;

/// An e-mail address as it is kept and compared.
pub(super) fn normalized(email: &str) -> String {
    email.trim().to_lowercase()
}

/// Refuses what cannot be an e-mail address; whether it is one, only a letter tells.
pub(super) fn checked(email: &str) -> Result<String, AppError> {
    let email = normalized(email);
    let is_one = email.len() <= EMAIL_BYTES_MAX
        && !email.contains(|it: char| it.is_control() || it.is_whitespace())
        && email
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'));
    let message = "must be an e-mail address";
    is_one.then_some(email).ok_or_else(|| AppError::invalid("email", codes::OUT_OF_RANGE, message))
}

/// What a user may see beside the accounts that they are a member of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Ordinary,
    /// Every account, and the operator's page.
    Operator,
}

/// Makes a user, who signs in by link for the first time.
///
/// # Errors
///
/// [`AppError::Invalid`] for an e-mail address that is none, or somebody's.
pub async fn create(services: &Services, email: &str, standing: Standing) -> Result<User, AppError> {
    insert(services, Some(checked(email)?), None, standing).await?.ok_or_else(taken)
}

/// Makes a user who signs in by password.
///
/// # Errors
///
/// [`AppError::Invalid`] for an e-mail address that is none, or somebody's, and for a password that cannot be.
pub(super) async fn create_with_password(
    services: &Services,
    email: &str,
    password: &str,
) -> Result<User, AppError> {
    let email = checked(email)?;
    let password = services.passwords.hash(services.passwords.enter()?, password, &services.ids).await?;
    let user = insert(services, Some(email), None, Standing::Ordinary).await?.ok_or_else(taken)?;
    let credentials = Credentials { email: None, password: Some(password) };
    users::set_credentials(&services.store, user.key, &credentials).await?;
    Ok(User { has_password: true, ..user })
}

/// Makes the user whom an OpenID provider knows by `subject`, its issuer and its name of them, and by a verified e-mail address;
/// `None` where somebody has either already.
///
/// # Errors
///
/// [`AppError::Invalid`] for an e-mail address that is none.
pub(super) async fn sign_up(
    services: &Services,
    email: &str,
    subject: (String, String),
) -> Result<Option<User>, AppError> {
    insert(services, Some(checked(email)?), Some(subject), Standing::Ordinary).await
}

pub(super) async fn insert(
    services: &Services,
    email: Option<String>,
    subject: Option<(String, String)>,
    standing: Standing,
) -> Result<Option<User>, AppError> {
    let now = services.clock.now();
    let is_operator = standing == Standing::Operator;
    let user = NewUser { id: services.ids.next(now), email, subject, is_operator, created_at: now };
    Ok(users::insert(&services.store, &user).await?)
}

/// The user with this identifier.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is none.
pub async fn get(services: &Services, id: UserId) -> Result<User, AppError> {
    users::find(&services.store, id).await?.ok_or(AppError::NotFound("user"))
}

/// The user with this identifier or e-mail address.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is none.
pub async fn named(services: &Services, name: &str) -> Result<User, AppError> {
    if let Some(id) = UserId::parse(name) {
        return get(services, id).await;
    }
    let found = users::find_by_email(&services.store, &normalized(name)).await?;
    found.map(|(user, _)| user).ok_or(AppError::NotFound("user"))
}

/// Every user, oldest first.
///
/// # Errors
///
/// Only what the store could not do.
pub async fn list(services: &Services) -> Result<Vec<User>, AppError> {
    Ok(users::list(&services.store).await?)
}

/// Removes a user, signed out everywhere at once. Accounts stay, with their other members.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is none.
pub async fn remove(services: &Services, id: UserId) -> Result<(), AppError> {
    users::remove(&services.store, id).await?.then_some(()).ok_or(AppError::NotFound("user"))
}

/// Gives a visitor another e-mail address, password, or both; a new password signs every other browser out. One who has a
/// password shows it: a browser that was left alone is not to be taken over for ever. One who came by a link just now may have
/// forgotten it. Nobody here can tell whose an e-mail address is, and a provider's word about one links its user: so only
/// operators change theirs.
///
/// # Errors
///
/// [`AppError::Invalid`] for what cannot be, or is somebody else's, and for a wrong current password.
pub async fn change_credentials(
    services: &Services,
    visitor: &Visitor,
    current: &str,
    email: Option<&str>,
    password: Option<&str>,
) -> Result<(), AppError> {
    let email = email.map(checked).transpose()?;
    let user = &visitor.user;
    if email.is_some() && !may_change_email(user) {
        let message = "stays: the operator makes a user for another";
        return Err(AppError::invalid("email", codes::CONFLICT, message));
    }
    let known = users::password(&services.store, user.key).await?;
    if let Some(hash) = known.filter(|_| !visitor.came_by_link(services.clock.now())) {
        sessions::check_password(services, user, current, hash).await?;
    }
    let hash = match password {
        Some(password) => {
            Some(services.passwords.hash(services.passwords.enter()?, password, &services.ids).await?)
        }
        None => None,
    };
    if hash.is_some() && email.is_none() && user.email.is_none() {
        return Err(AppError::invalid("email", codes::MISSING, "is needed beside a password"));
    }
    let credentials = Credentials { email, password: hash };
    if !users::set_credentials(&services.store, user.key, &credentials).await? {
        return Err(taken());
    }
    if credentials.password.is_some() {
        sessions::sign_out_everywhere(services, user, Some(&visitor.session)).await?;
    }
    Ok(())
}

/// Whether the user may take an e-mail address, or another.
pub fn may_change_email(user: &User) -> bool {
    user.is_operator || user.email.is_none()
}

fn taken() -> AppError {
    AppError::invalid("email", codes::CONFLICT, "is somebody's already")
}
