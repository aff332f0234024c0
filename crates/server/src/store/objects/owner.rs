//! Whether the object store that the settings name is that of this database.

use overnight_domain::scheduler::AccountKey;
use ring::digest::{SHA256, digest};

use crate::object_store::{ObjectStoreError, PROBE};
use crate::store::database::statements;
use crate::store::{Store, StoreError};

statements! {
    FIND_ANY = "SELECT name FROM objects LIMIT 1";
}

/// Checks it before something is put, unless it is known. A database that has no objects may take one that nothing says is another's.
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
        // Where there is an object by now, another call may have put the first one meanwhile: it said whose they are before.
        let is_new = !is_any(store).await?;
        object_store.check_owner(account, &name, is_new).await?;
    }
    Ok(())
}

/// Checks it before what is missing there counts as deleted or lost.
pub(super) async fn check(store: &Store, account: AccountKey) -> Result<(), StoreError> {
    Ok(store.objects().store()?.check_owner(account, &name_of(store), false).await?)
}

/// The same before all that is left of an account is deleted; `false` where nothing there is this database's, which has no object.
pub(super) async fn check_to_erase(store: &Store, account: AccountKey) -> Result<bool, StoreError> {
    match is_owned(store, account).await {
        Err(StoreError::ObjectStore(ObjectStoreError::Foreign(_))) if !is_any(store).await? => Ok(false),
        checked => checked,
    }
}

/// Whether it says that it is this database's; `false` where nothing there says whose it is, and this database has no object.
pub(super) async fn is_owned(store: &Store, account: AccountKey) -> Result<bool, StoreError> {
    match check(store, account).await {
        Ok(()) => Ok(true),
        Err(StoreError::ObjectStore(ObjectStoreError::Unowned { .. })) if !is_any(store).await? => Ok(false),
        Err(error) => Err(error),
    }
}

/// Tries the object store: puts an object, reads it, lists it and deletes it, unless the object store is not this database's. `false` where
/// nothing there says whose it is yet, and this database has no object.
///
/// # Errors
/// [`ObjectStoreError::Unowned`] and [`ObjectStoreError::Foreign`], before anything is put, and what could not be done.
pub async fn probe(store: &Store) -> Result<bool, StoreError> {
    let is_owned = is_owned(store, PROBE).await?;
    store.objects().store()?.probe().await?;
    Ok(is_owned)
}

/// Whether there is any object, in use or not.
pub(super) async fn is_any(store: &Store) -> Result<bool, StoreError> {
    Ok(store.readers().fetch_optional(FIND_ANY.unbound()).await?.is_some())
}

/// What a database is called there: it is drawn from its secret, which backups and exports have too.
fn name_of(store: &Store) -> String {
    let secret = [b"the owner of an object store", &store.sort_key_secret()[..]].concat();
    digest(&SHA256, &secret).as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
