//! The object that says whose the others are. Without it another bucket, or the empty folder where nothing is mounted, would be taken for
//! the object store: what is to be deleted would be missing there, and so count as deleted.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt, PutMode, PutOptions};
use overnight_domain::scheduler::AccountKey;

use super::error::{ObjectStoreError, was_answered};
use super::{ObjectStore, PROBE};

/// Its name behind the prefix: that of no account.
const NAME: &str = "database";

const BYTES_MAX: u64 = 1 << 10;

impl ObjectStore {
    /// Whether nobody need ask whose the objects are before something is put. While it is away somebody must: so it is tried before anything is
    /// noted that cannot be put. In a folder always: it may not be mounted any more.
    pub fn is_owner_known(&self) -> bool {
        self.is_owned.load(Ordering::Relaxed)
            && !self.is_away.load(Ordering::Relaxed)
            && self.folder.is_none()
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
        match self.compare_owner(account, &path, database).await {
            Err(ObjectStoreError::Unowned { .. }) if is_new => {
                self.take(account, &path, database).await?;
                // Another database may have taken it in the same moment.
                self.compare_owner(account, &path, database).await?;
            }
            compared => compared?,
        }
        self.is_owned.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The object that says whose the others are, if there is one.
    ///
    /// # Errors
    /// Why it could not be read.
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

    /// Says that the objects are this database's, if nothing says yet that they are another's. Where the object store has no puts with a
    /// condition, two databases that do so in the same moment both succeed, and the second has it.
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

/// What says that the objects are those of a database.
fn content(database: &str) -> Bytes {
    format!("{database}\n").into()
}
