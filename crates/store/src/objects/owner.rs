//! Whether the configured object store is this database's.

use overnight_domain::scheduler::AccountKey;
use ring::digest::{SHA256, digest};

use crate::database::statements;
use crate::object_store::{ObjectStoreError, PROBE};
use crate::{Store, StoreError};

statements! {
    FIND_ANY = "SELECT name FROM objects LIMIT 1";
}

/// Before a put, unless it is known. A database without objects may take an unowned store.
pub(super) async fn check_to_put(store: &Store, account: AccountKey) -> Result<(), StoreError> {
    let object_store = store.objects().store()?;
    if object_store.is_owner_known() {
        return Ok(());
    }
    let name = name_of(store);
    if let Err(error) = object_store.check_owner(account, &name, false).await {
        if !matches!(error, ObjectStoreError::Unowned { .. }) {
            return Err(error.into());
        }
        // If there is an object now, another call may have put the first one: it named the owner before.
        let is_new = !is_any(store).await?;
        object_store.check_owner(account, &name, is_new).await?;
    }
    Ok(())
}

/// Before a missing object counts as deleted or lost.
pub(super) async fn check(store: &Store, account: AccountKey) -> Result<(), StoreError> {
    Ok(store.objects().store()?.check_owner(account, &name_of(store), false).await?)
}

/// Before the rest of an account is deleted; `false` if the store is unowned or another database's, and this database has no object.
pub(super) async fn check_to_erase(store: &Store, account: AccountKey) -> Result<bool, StoreError> {
    match is_owned(store, account).await {
        Err(StoreError::ObjectStore(ObjectStoreError::Foreign(_))) if !is_any(store).await? => Ok(false),
        checked => checked,
    }
}

/// `false` if the store is unowned, and this database has no object.
pub(super) async fn is_owned(store: &Store, account: AccountKey) -> Result<bool, StoreError> {
    match check(store, account).await {
        Ok(()) => Ok(true),
        Err(StoreError::ObjectStore(ObjectStoreError::Unowned { .. })) if !is_any(store).await? => Ok(false),
        Err(error) => Err(error),
    }
}

/// Puts an object, reads it, lists it and deletes it. `false` if the store is unowned, and this database has no object. Fails before the put
/// with [`ObjectStoreError::Unowned`] or [`ObjectStoreError::Foreign`].
pub async fn probe(store: &Store) -> Result<bool, StoreError> {
    let is_owned = is_owned(store, PROBE).await?;
    store.objects().store()?.probe().await?;
    Ok(is_owned)
}

/// In use or not.
pub(super) async fn is_any(store: &Store) -> Result<bool, StoreError> {
    Ok(store.readers().fetch_optional(FIND_ANY.unbound()).await?.is_some())
}

/// The database's name in the object store, drawn from its secret, which backups and exports have too.
fn name_of(store: &Store) -> String {
    let secret = [b"the owner of an object store", &store.sort_key_secret()[..]].concat();
    digest(&SHA256, &secret).as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
