//! The object that says whose the others are. Without it another bucket, or the empty folder where nothing is mounted, would be taken for
//! the object store: what is to be deleted would be missing there, and so count as deleted.

use bytes::Bytes;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use overnight_domain::scheduler::AccountKey;

use super::ObjectStore;
use super::error::ObjectStoreError;

/// Its name behind the prefix: that of no account.
const NAME: &str = "database";

/// More than it has.
const BYTES_MAX: u64 = 1 << 10;

impl ObjectStore {
    /// Whether it is a folder, in the place of which there is another one where nothing is mounted.
    pub fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Checks that the objects are those of the database of this name, in the turn of an account. Where nothing says whose they are, and
    /// `is_new`, they are from now on.
    ///
    /// # Errors
    /// [`ObjectStoreError::Unowned`] and [`ObjectStoreError::Foreign`], and why it could not be read or put.
    pub async fn check_owner(
        &self,
        account: AccountKey,
        database: &str,
        is_new: bool,
    ) -> Result<(), ObjectStoreError> {
        let path = self.prefix.clone().join(NAME);
        let wanted = format!("{database}\n");
        match self.read_owner(account, &path).await {
            Ok(owner) if owner == wanted.as_bytes() => Ok(()),
            Ok(_) => Err(ObjectStoreError::Foreign(path.to_string())),
            Err(ObjectStoreError::Missing(_)) if is_new => self.put_at(&path, account, wanted.into()).await,
            Err(ObjectStoreError::Missing(_)) => {
                Err(ObjectStoreError::Unowned { path: path.to_string(), database: database.to_owned() })
            }
            Err(error) => Err(error),
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
