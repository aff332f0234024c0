//! Users who are made together with what they belong to and what lets them in: all of it is there, or nothing.

use overnight_domain::roles::Role;
use overnight_domain::scheduler::AccountKey;

use crate::store::database::Tx;
use crate::store::identity::accounts::{self, Account, NewAccount};
use crate::store::identity::invitations;
use crate::store::identity::members;
use crate::store::identity::sessions::{self, NewLink, Session};
use crate::store::identity::users::{self, NewUser, User};
use crate::store::{Store, StoreError};

/// Makes a user, who belongs to an account where one is named, and the link that signs them in for the first time; `None` where
/// somebody has the e-mail address or the subject already.
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

/// Has a user belong to an account where one is named, and makes the one link that signs them in.
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

/// What became of a user who was to join an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joining {
    /// The user is made, is a member, and is signed in.
    Joined(User),
    /// The invitation works no more; nothing is done.
    Ended,
    /// Somebody has the e-mail address; nothing is done.
    Taken,
}

/// Makes a user, and a member by the invitation with this hash, which is used up, and signs the user in.
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

/// Makes a user who is known by a verified e-mail address: a member of every account that invites it, or else the owner of
/// `account`, which is made too. Whom, and the account; `None` where somebody has the e-mail address or the subject already.
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
