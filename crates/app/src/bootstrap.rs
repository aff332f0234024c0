//! The first start: an account and a key, so that the first command works, and an operator, who signs in to the console by a link.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use overnight_base::private_files;
use overnight_domain::ids::AccountId;
use overnight_domain::roles::Role;

use super::accounts::{Account, Start};
use super::errors::AppError;
use super::sessions::people;
use super::sessions::{self, Link};
use super::users::{self, Standing};
use super::{Services, api_keys};
pub use overnight_store::KEY_FILE;
use overnight_store::identity::sign_ups;
use overnight_store::{self as store, StoreError};

const ACCOUNT: &str = "default";

#[derive(Debug, Clone)]
pub struct Bootstrapped {
    pub account: AccountId,
    pub key: String,
    /// The file with the key, readable only by its owner.
    pub key_path: PathBuf,
}

/// If the store has no account, creates the account `default`, with active payments and initial credits, and a key for it.
///
/// If it is interrupted, the next call completes it: the file is written before account and key are stored in one transaction. An open
/// `default` account that is the only one and has no key gets one too. Of nodes that start together, one creates it.
pub fn run(services: &Services) -> BoxFuture<'_, Result<Option<Bootstrapped>, AppError>> {
    // Boxed, so that it is compiled here and not in each program.
    Box::pin(bootstrap(services))
}

async fn bootstrap(services: &Services) -> Result<Option<Bootstrapped>, AppError> {
    let _turn = services.store.take_turn().await?;
    let store = &services.store;
    let accounts = store::identity::accounts::list(store).await?;
    let alone = match accounts.as_slice() {
        [] => None,
        [only] if only.name == ACCOUNT && is_open(only) && has_no_key(services, only).await? => Some(only),
        _ => return Ok(None),
    };
    let (key, stored) =
        api_keys::new(services, api_keys::KeyDraft { name: Some(ACCOUNT), ..api_keys::KeyDraft::PLAIN });
    let key_path = services.config().data_dir.join(KEY_FILE);
    private_files::replace(&key_path, format!("{key}\n").as_bytes())
        .map_err(|source| StoreError::File { path: key_path.display().to_string(), source })?;
    let account = if let Some(alone) = alone {
        api_keys::store(services, alone.key, (key.clone(), stored)).await?;
        alone.id
    } else {
        let credits = services.config().billing.bootstrap_credits;
        let account = super::accounts::draft(services, ACCOUNT, Start { is_activated: true, credits })?;
        store::identity::accounts::insert_with_key(store, &account, &stored).await?.id
    };
    Ok(Some(Bootstrapped { account, key, key_path }))
}

/// Whether keys and members can be added.
const fn is_open(account: &Account) -> bool {
    account.closed_at.is_none()
}

async fn has_no_key(services: &Services, account: &Account) -> Result<bool, AppError> {
    Ok(api_keys::list(services, account.id).await?.keys.is_empty())
}

/// Makes a sign-in link for the first operator, who is created if there is no user. `None` if a user could already have signed in, or this
/// node serves no console. The link of an earlier start becomes invalid.
pub async fn link_operator(services: &Services) -> Result<Option<Link>, AppError> {
    if !services.config().role.serves_api() || services.config().console_origin().is_err() {
        return Ok(None);
    }
    let _turn = services.store.take_turn().await?;
    let membership = match store::identity::accounts::list(&services.store).await?.as_slice() {
        [only] if is_open(only) => Some((only.key, Role::Owner)),
        _ => None,
    };
    let (new, link) = sessions::draft_link(services);
    match users::list(services).await?.as_slice() {
        [] => {
            let operator = people::draft(services, None, Standing::Operator);
            let made = sign_ups::make(&services.store, &operator, membership, new).await?;
            Ok(made.map(|_| link))
        }
        [only] if only.is_operator && only.signed_in_at.is_none() => {
            sign_ups::welcome(&services.store, only.key, membership, new).await?;
            Ok(Some(link))
        }
        _ => Ok(None),
    }
}
