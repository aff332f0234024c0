//! Creating users together with their memberships and links, in one transaction.

use overnight_domain::roles::Role;
use overnight_domain::scheduler::AccountKey;

use crate::database::Tx;
use crate::identity::accounts::{self, Account, NewAccount};
use crate::identity::invitations;
use crate::identity::members;
use crate::identity::sessions::{self, NewLink, Session};
use crate::identity::users::{self, NewUser, User};
use crate::{Store, StoreError};

/// Creates a user, a membership if one is given, and the user's first sign-in link; `None` if the e-mail address or the subject is taken.
pub async fn make(
    store: &Store,
    user: &NewUser,
    membership: Option<(AccountKey, Role)>,
    link: NewLink,
) -> Result<Option<User>, StoreError> {
    let user = user.clone();
    let making = async move |tx: &mut Tx<'_>| {
        let Some(made) = users::insert_in(&user, tx).await? else { return Ok(None) };
        users::note_made_in(&made, tx).await?;
        welcome_in(made.key, membership, link, tx).await?;
        Ok(Some(made))
    };
    store.transaction(making).await
}

/// Adds a membership if one is given, and makes the user's one sign-in link.
pub async fn welcome(
    store: &Store,
    user: i64,
    membership: Option<(AccountKey, Role)>,
    link: NewLink,
) -> Result<(), StoreError> {
    store.transaction(async move |tx| welcome_in(user, membership, link, tx).await).await
}

async fn welcome_in(
    user: i64,
    membership: Option<(AccountKey, Role)>,
    link: NewLink,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    if let Some((account, role)) = membership {
        members::insert_in(account, user, role, link.created_at, tx).await?;
    }
    sessions::replace_link_in(user, link, tx).await
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joining {
    Joined(User),
    /// The invitation no longer works.
    Ended,
    /// The e-mail address is taken.
    Taken,
}

/// Creates a user, makes them a member by an invitation, which is used up, and signs them in.
pub async fn join(
    store: &Store,
    user: &NewUser,
    invitation: &[u8; 32],
    session: &Session,
) -> Result<Joining, StoreError> {
    let (user, invitation, session) = (user.clone(), *invitation, session.clone());
    let joining = async move |tx: &mut Tx<'_>| {
        let Some(made) = users::insert_in(&user, tx).await? else { return Ok(Joining::Taken) };
        tx.act_as_user(made.key);
        users::note_made_in(&made, tx).await?;
        if !invitations::accept_in(&invitation, made.key, user.created_at, tx).await? {
            tx.undo();
            return Ok(Joining::Ended);
        }
        sessions::insert_in(made.key, &session, "invitation", tx).await?;
        Ok(Joining::Joined(made))
    };
    store.transaction(joining).await
}

/// Creates a user with a verified e-mail address: a member of every account that invites it, or else the owner of `account`, which is
/// created too. Returns the user and that account; `None` if the e-mail address or the subject is taken.
pub async fn sign_up(
    store: &Store,
    user: &NewUser,
    account: &NewAccount,
) -> Result<Option<(User, Option<Account>)>, StoreError> {
    let (user, account) = (user.clone(), account.clone());
    let signing_up = async move |tx: &mut Tx<'_>| {
        let Some(made) = users::insert_in(&user, tx).await? else { return Ok(None) };
        tx.act_as_user(made.key);
        users::note_made_in(&made, tx).await?;
        let (email, now) = (user.email.as_deref().unwrap_or_default(), user.created_at);
        if invitations::accept_all_in(email, made.key, now, tx).await? > 0 {
            return Ok(Some((made, None)));
        }
        let own = accounts::insert_in(&account, tx).await?;
        members::insert_in(own.key, made.key, Role::Owner, now, tx).await?;
        Ok(Some((made, Some(own))))
    };
    store.transaction(signing_up).await
}
