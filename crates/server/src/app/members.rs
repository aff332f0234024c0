//! Who belongs to which account: listed, given another role, dismissed. How they come to it: see `invitations.rs`.

use overnight_domain::faults::codes;
use overnight_domain::ids::{AccountId, UserId};
use overnight_domain::roles::Role;

use super::Services;
use super::errors::AppError;
use crate::store::identity::accounts::Account;
pub use crate::store::identity::members::Member;
use crate::store::identity::members::{self, MemberChange};
use crate::store::identity::users::User;

/// The accounts that a user belongs to, and as what, in the order in which they came to them.
pub async fn accounts_of(services: &Services, user: &User) -> Result<Vec<(Account, Role)>, AppError> {
    Ok(members::accounts_of(&services.store, user.key).await?)
}

/// The account with this identifier, and what a user may be in it: an operator is an owner of every one.
///
/// # Errors
///
/// [`AppError::NotFound`] where the account is none of the user's, as where there is none.
pub async fn account_of(
    services: &Services,
    user: &User,
    account: AccountId,
) -> Result<(Account, Role), AppError> {
    let found = members::find_account(&services.store, account, user.key, user.is_operator).await?;
    let (account, role) = found.ok_or(AppError::NotFound("account"))?;
    let role = if user.is_operator { Some(Role::Owner) } else { role };
    Ok((account, role.ok_or(AppError::NotFound("account"))?))
}

/// The members of an account, in the order in which they came.
pub async fn list(services: &Services, account: &Account) -> Result<Vec<Member>, AppError> {
    Ok(members::list(&services.store, account.key).await?)
}

/// Makes a user a member; one who is keeps the role.
pub async fn add(services: &Services, account: &Account, user: &User, role: Role) -> Result<(), AppError> {
    let now = services.clock.now();
    Ok(members::insert(&services.store, account.key, user.key, role, now).await?)
}

/// Gives a member another role, or dismisses them with `None`; it counts from the next click on.
///
/// # Errors
///
/// [`AppError::NotFound`] where the user is no member; [`AppError::Invalid`] where the account would have no owner.
pub async fn change(
    services: &Services,
    account: &Account,
    user: UserId,
    role: Option<Role>,
) -> Result<(), AppError> {
    match members::change(&services.store, account.key, user, role, services.clock.now()).await? {
        MemberChange::Done => Ok(()),
        MemberChange::Unknown => Err(AppError::NotFound("member")),
        MemberChange::LastOwner => {
            Err(AppError::invalid("role", codes::CONFLICT, "stays: an account keeps an owner"))
        }
    }
}
