//! Members of accounts: list, change of role, removal. `users/invitations.rs` adds them.

use overnight_domain::faults::codes;
use overnight_domain::ids::{AccountId, UserId};
use overnight_domain::roles::Role;
use overnight_store::identity::accounts::Account;

use crate::errors::AppError;
use crate::{ReadsFor, Services};
pub use overnight_store::identity::members::Member;
use overnight_store::identity::members::{self, MemberChange};
use overnight_store::identity::users::User;

/// The accounts and roles of a user, in the order in which the user joined.
pub async fn accounts_of(services: &Services, user: &User) -> Result<Vec<(Account, Role)>, AppError> {
    Ok(members::accounts_of(&services.store, user.key).await?)
}

/// The account with this identifier, and the user's role in it; an operator is an owner of every account. [`AppError::NotFound`] if the
/// user is no member, as if the account did not exist. A member's further reads take the account's turns.
pub async fn account_of(
    services: &Services,
    user: &User,
    account: AccountId,
) -> Result<(Account, Role), AppError> {
    let found = members::find_account(&services.store, account, user.key, user.is_operator).await?;
    let (account, role) = found.ok_or(AppError::NotFound("account"))?;
    if user.is_operator {
        return Ok((account, Role::Owner));
    }
    let role = role.ok_or(AppError::NotFound("account"))?;
    ReadsFor::continue_as(account.key);
    Ok((account, role))
}

/// The members of an account, in the order in which they joined.
pub async fn list(services: &Services, account: &Account) -> Result<Vec<Member>, AppError> {
    Ok(members::list(&services.store, account.key).await?)
}

/// Makes a user a member; an existing member keeps the role.
pub async fn add(services: &Services, account: &Account, user: &User, role: Role) -> Result<(), AppError> {
    let now = services.clock.now();
    Ok(members::insert(&services.store, account.key, user.key, role, now).await?)
}

/// Changes a member's role, or removes the member with `None`, from the member's next click on. Fails with [`AppError::Invalid`] if the
/// account would have no owner.
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
