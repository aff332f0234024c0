//! The object that names the owner of the others. Without it another bucket, or the empty folder of a missing mount, would be taken for the
//! object store: objects to delete would be missing there, and so count as deleted.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt, PutMode, PutOptions};
use overnight_domain::scheduler::AccountKey;

use super::error::{ObjectStoreError, was_answered};
use super::{ObjectStore, PROBE};

/// Its name after the prefix, which is no account's.
const NAME: &str = "database";

const BYTES_MAX: u64 = 1 << 10;

impl ObjectStore {
    /// Whether a put needs no check of the owner. An unreachable store needs one, so that it is tried before a put is noted. A folder
    /// always does: it may be unmounted.
    pub fn is_owner_known(&self) -> bool {
        self.is_owned.load(Ordering::Relaxed)
            && !self.is_away.load(Ordering::Relaxed)
            && self.folder.is_none()
    }

    /// Checks, in the turn of an account, that the objects belong to the database of this name. Takes an unowned store if `is_new`. Fails
    /// with [`ObjectStoreError::Unowned`] or [`ObjectStoreError::Foreign`].
    pub async fn check_owner(
        &self,
        account: AccountKey,
        database: &str,
        is_new: bool,
    ) -> Result<(), ObjectStoreError> {
        let path = self.prefix.clone().join(NAME);
        match self.compare_owner(account, &path, database).await {
            Err(ObjectStoreError::Unowned { .. }) if is_new => {
                self.take(account, &path, database).await?;
                // Another database may have taken it at the same moment.
                self.compare_owner(account, &path, database).await?;
            }
            compared => compared?,
        }
        self.is_owned.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The owner's object, if there is one.
    pub async fn find_claim(&self) -> Result<Option<String>, ObjectStoreError> {
        let path = self.prefix.clone().join(NAME);
        match self.read_owner(PROBE, &path).await {
            Ok(_) | Err(ObjectStoreError::Foreign(_)) => Ok(Some(path.to_string())),
            Err(ObjectStoreError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn compare_owner(
        &self,
        account: AccountKey,
        path: &Path,
        database: &str,
    ) -> Result<(), ObjectStoreError> {
        match self.read_owner(account, path).await {
            Ok(owner) if owner == content(database) => Ok(()),
            Ok(_) => Err(ObjectStoreError::Foreign(path.to_string())),
            Err(ObjectStoreError::Missing(_)) => {
                Err(ObjectStoreError::Unowned { path: path.to_string(), database: database.to_owned() })
            }
            Err(error) => Err(error),
        }
    }

    /// Takes an unowned store. Without conditional puts, two databases that do so at the same moment both succeed, and the second owns it.
    async fn take(&self, account: AccountKey, path: &Path, database: &str) -> Result<(), ObjectStoreError> {
        let create = async {
            let (content, options) = (content(database), PutOptions::from(PutMode::Create));
            match self.backend.put_opts(path, content.into(), options).await {
                Ok(_) | Err(Error::AlreadyExists { .. }) => Ok(true),
                Err(error) if was_answered(&error) => Ok(false),
                Err(error) => Err(error.into()),
            }
        };
        if self.call("put", account, create).await? {
            return Ok(());
        }
        match self.read_owner(account, path).await {
            Err(ObjectStoreError::Missing(_)) => self.put_at(path, account, content(database)).await,
            read => read.map(drop),
        }
    }

    async fn read_owner(&self, account: AccountKey, path: &Path) -> Result<Bytes, ObjectStoreError> {
        let get = async {
            let found = self.backend.get(path).await?;
            match found.meta.size {
                0..=BYTES_MAX => Ok(found.bytes().await?),
                _ => Err(ObjectStoreError::Foreign(path.to_string())),
            }
        };
        self.call("get", account, get).await
    }
}

/// The content of the owner's object.
fn content(database: &str) -> Bytes {
    format!("{database}\n").into()
}
