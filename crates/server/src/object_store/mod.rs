//! Objects beside the database: bodies above a size, in a folder, S3, Google Cloud Storage or Azure Blob Storage.
//!
//! Calls are bounded, and accounts take turns. While the object store does not answer, one call at a time tries it, and all others are
//! refused at once.

mod error;
mod location;
mod reference;

pub use error::ObjectStoreError;
pub use location::ObjectStoreOptions;
pub(crate) use reference::is_reference;
pub use reference::{ObjectName, Reference};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore as Backend, ObjectStoreExt, PutPayload};
use overnight_domain::scheduler::AccountKey;
use tokio::sync::Semaphore;

use crate::turns::Turns;

/// Calls at once.
const CALLS_MAX: usize = 32;

/// Whose the object of a probe is: no account has this number.
const PROBE: AccountKey = AccountKey(0);

/// An object store, as the settings name it.
pub struct ObjectStore {
    backend: Arc<dyn Backend>,
    prefix: Path,
    turns: Turns,
    /// Whether the last call that ended was not answered.
    is_away: AtomicBool,
    /// The right to call it while it is away.
    trial: Semaphore,
}

impl ObjectStore {
    /// The object store that is named. It is not called yet.
    ///
    /// # Errors
    /// [`ObjectStoreError::Settings`].
    pub fn open(options: &ObjectStoreOptions) -> Result<Self, ObjectStoreError> {
        let (backend, prefix) = location::open(options)?;
        let turns = Turns::over(CALLS_MAX);
        Ok(Self { backend, prefix, turns, is_away: AtomicBool::new(false), trial: Semaphore::new(1) })
    }

    /// Puts an object. It is durable when this returns.
    ///
    /// # Errors
    /// [`ObjectStoreError::Away`]: it may be there or not.
    pub async fn put(&self, name: &ObjectName, content: Bytes) -> Result<(), ObjectStoreError> {
        let (path, bytes) = (self.path(name), content.len());
        let put = async {
            self.backend.put(&path, PutPayload::from_bytes(content)).await?;
            Ok(())
        };
        self.call("put", name.account, put).await?;
        metrics::counter!("overnight_object_store_bytes_total", "operation" => "put").increment(bytes as u64);
        Ok(())
    }

    /// What an object holds.
    ///
    /// # Errors
    /// Also where it is missing, or not as it was put.
    pub async fn get(&self, reference: &Reference) -> Result<Bytes, ObjectStoreError> {
        let path = self.path(&reference.name);
        let get = async {
            let found = self.backend.get(&path).await?;
            if found.meta.size != reference.bytes {
                return Err(ObjectStoreError::Damaged(path.to_string()));
            }
            Ok(found.bytes().await?)
        };
        let content = self.call("get", reference.name.account, get).await?;
        metrics::counter!("overnight_object_store_bytes_total", "operation" => "get")
            .increment(reference.bytes);
        if !reference.is_to(&content) {
            return Err(ObjectStoreError::Damaged(path.to_string()));
        }
        Ok(content)
    }

    /// Deletes an object, if it is there.
    ///
    /// # Errors
    /// [`ObjectStoreError::Away`].
    pub async fn delete(&self, name: &ObjectName) -> Result<(), ObjectStoreError> {
        let path = self.path(name);
        let delete = async { Ok(self.backend.delete(&path).await?) };
        match self.call("delete", name.account, delete).await {
            Err(ObjectStoreError::Missing(_)) => Ok(()),
            deleted => deleted,
        }
    }

    /// Deletes every object under the prefix of an account; how many there were.
    ///
    /// # Errors
    /// [`ObjectStoreError::Away`].
    pub async fn delete_all(&self, account: AccountKey) -> Result<usize, ObjectStoreError> {
        let prefix = self.folder(account);
        let list = async {
            let found: Vec<_> = self.backend.list(Some(&prefix)).try_collect().await?;
            Ok(found)
        };
        let found = self.call("list", account, list).await?;
        for object in &found {
            let delete = async { Ok(self.backend.delete(&object.location).await?) };
            match self.call("delete", account, delete).await {
                Err(ObjectStoreError::Missing(_)) | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found.len())
    }

    /// Puts an object, reads it and deletes it.
    ///
    /// # Errors
    /// What could not be done.
    pub async fn probe(&self) -> Result<(), ObjectStoreError> {
        const CONTENT: &[u8] = b"a probe of `overnight doctor`";
        let name = ObjectName::draw(PROBE).ok_or(ObjectStoreError::NoRandom)?;
        let reference = Reference::new(name, CONTENT);
        self.put(&name, Bytes::from_static(CONTENT)).await?;
        self.get(&reference).await?;
        self.delete(&name).await
    }

    /// Calls it in the turn of the account; at once refused where it is away and another call tries it.
    async fn call<T>(
        &self,
        operation: &'static str,
        account: AccountKey,
        call: impl Future<Output = Result<T, ObjectStoreError>>,
    ) -> Result<T, ObjectStoreError> {
        let _turn = self.turns.take(account).await;
        let (is_away, trial) = (self.is_away.load(Ordering::Relaxed), self.trial.try_acquire());
        if is_away && trial.is_err() {
            count(operation, "refused");
            return Err(ObjectStoreError::Away("it did not answer the calls before".to_owned()));
        }
        let _trial = trial.ok().filter(|_| is_away);
        self.note(operation, call.await)
    }

    fn note<T>(
        &self,
        operation: &'static str,
        outcome: Result<T, ObjectStoreError>,
    ) -> Result<T, ObjectStoreError> {
        let is_away = matches!(outcome, Err(ObjectStoreError::Away(_)));
        if self.is_away.swap(is_away, Ordering::Relaxed) != is_away {
            match outcome.as_ref().err().filter(|_| is_away) {
                Some(error) => tracing::warn!(%error, operation, "the object store is away"),
                None => tracing::info!("the object store answers again"),
            }
        }
        let told = match &outcome {
            Ok(_) => "ok",
            Err(ObjectStoreError::Missing(_)) => "missing",
            Err(ObjectStoreError::Damaged(_)) => "damaged",
            Err(_) => "failed",
        };
        count(operation, told);
        outcome
    }

    fn folder(&self, account: AccountKey) -> Path {
        self.prefix.clone().join(account.0.to_string())
    }

    fn path(&self, name: &ObjectName) -> Path {
        self.folder(name.account).join(format!("{:032x}", u128::from_be_bytes(name.bits)))
    }
}

fn count(operation: &'static str, outcome: &'static str) {
    metrics::counter!("overnight_object_store_operations_total", "operation" => operation, "outcome" => outcome)
        .increment(1);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use url::Url;

    use super::*;

    #[tokio::test]
    async fn while_it_is_away_one_call_at_a_time_tries_it_and_the_others_are_refused_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("objects");
        let url = Url::from_directory_path(&path).expect("a URL");
        let store = ObjectStore::open(&ObjectStoreOptions {
            url,
            endpoint: None,
            region: None,
            allow_http: false,
            min_bytes: None,
        })
        .expect("a folder");
        store.probe().await.expect("it is there");
        fs::remove_dir_all(&path).expect("an empty folder");
        fs::write(&path, b"no folder").expect("a file in its place");
        let failed = store.probe().await.expect_err("it is away").to_string();
        let trial = store.trial.try_acquire().expect("nobody tries it");
        fs::remove_file(&path).expect("the file goes");
        let refused = store.probe().await.expect_err("another call tries it").to_string();
        assert!(
            refused.contains("did not answer") && !failed.contains("did not answer"),
            "{failed}, {refused}"
        );
        drop(trial);
        store.probe().await.expect("it is back");
        let _trial = store.trial.try_acquire().expect("nobody tries it");
        store.probe().await.expect("nobody needs to try it");
    }
}
