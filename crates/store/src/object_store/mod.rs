//! Large bodies as objects in a folder, S3, Google Cloud Storage or Azure Blob Storage.
//!
//! Calls are bounded, and accounts take turns. While the object store does not answer, one call at a time tries it, and all others are
//! refused immediately.

mod error;
mod folder;
mod lists;
mod location;
mod owner;
mod reference;

pub use error::ObjectStoreError;
pub use location::ObjectStoreOptions;
pub use reference::is_reference;
pub use reference::{ObjectName, Reference};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore as Backend, ObjectStoreExt, PutPayload};
use overnight_base::turns::Turns;
use overnight_domain::scheduler::AccountKey;
// The TLS of object_store, which leaves it to the features of reqwest.
use reqwest as _;
use tokio::sync::Semaphore;

use self::folder::Folder;

const CALLS_MAX: usize = 32;

/// Concurrent calls of one account, so that others find places when calls are slow.
const CALLS_OF_ACCOUNT_MAX: usize = CALLS_MAX / 2;

/// The fault of a put.
const NO_BUCKET: &str = "there is no such bucket or container";

/// The owner of a probe's object: no account has this number.
pub const PROBE: AccountKey = AccountKey(0);

pub struct ObjectStore {
    backend: Arc<dyn Backend>,
    prefix: Path,
    folder: Option<Folder>,
    turns: Turns,
    /// Whether its owner was found to match.
    is_owned: AtomicBool,
    /// Whether the last call had no answer.
    is_away: AtomicBool,
    /// The right to call it while it does not answer.
    trial: Semaphore,
}

impl ObjectStore {
    /// Does not call it yet.
    pub fn open(options: &ObjectStoreOptions) -> Result<Self, ObjectStoreError> {
        let (backend, prefix) = location::open(options)?;
        let folder = Folder::named_by(&options.url);
        Ok(Self { folder, ..Self::over(backend, prefix) })
    }

    fn over(backend: Arc<dyn Backend>, prefix: Path) -> Self {
        let turns = Turns::capped(CALLS_MAX, CALLS_OF_ACCOUNT_MAX);
        Self {
            backend,
            prefix,
            folder: None,
            turns,
            is_owned: AtomicBool::new(false),
            is_away: AtomicBool::new(false),
            trial: Semaphore::new(1),
        }
    }

    /// Durable when this returns. After [`ObjectStoreError::NotCalled`] the object is absent; after any other error it may be there or not.
    pub async fn put(&self, name: &ObjectName, content: Bytes) -> Result<(), ObjectStoreError> {
        let bytes = content.len();
        self.put_at(&self.path(name), name.account, content).await?;
        metrics::counter!("overnight_object_store_bytes_total", "operation" => "put").increment(bytes as u64);
        Ok(())
    }

    /// Fails also if the object is missing or differs from what was put.
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

    /// With remnants of unfinished puts. A missing object is not an error.
    pub async fn delete(&self, name: &ObjectName) -> Result<(), ObjectStoreError> {
        self.delete_at(&self.path(name), name.account).await?;
        match &self.folder {
            Some(folder) => folder.remove_unfinished(self.path(name)).await,
            None => Ok(()),
        }
    }

    async fn put_at(&self, path: &Path, account: AccountKey, content: Bytes) -> Result<(), ObjectStoreError> {
        let put = async {
            match self.backend.put(path, PutPayload::from_bytes(content)).await.map_err(Into::into) {
                Ok(_) => Ok(()),
                Err(ObjectStoreError::Missing(_)) => Err(ObjectStoreError::Refused(NO_BUCKET.to_owned())),
                Err(error) => Err(error),
            }
        };
        self.call("put", account, put).await
    }

    async fn delete_at(&self, path: &Path, account: AccountKey) -> Result<(), ObjectStoreError> {
        let delete = async { self.backend.delete(path).await.map_err(ObjectStoreError::of_deletion) };
        match self.call("delete", account, delete).await {
            Err(ObjectStoreError::Missing(_)) => Ok(()),
            deleted => deleted,
        }
    }

    /// Deletes what a list of an account's prefix has; returns the number of objects. If one is not deleted, fails after deleting the
    /// others.
    pub async fn delete_all(&self, account: AccountKey) -> Result<usize, ObjectStoreError> {
        let found = self.list_of(account).await?;
        let mut refused = None;
        for path in &found {
            match self.delete_at(path, account).await {
                Err(error) if error.is_away() => return Err(error),
                deleted => refused = refused.or(deleted.err()),
            }
        }
        if let Some(error) = refused {
            return Err(error);
        }
        if let Some(folder) = &self.folder {
            folder.remove_account(self.folder_of(account)).await?;
        }
        Ok(found.len())
    }

    /// `None` if it is missing.
    pub async fn length(&self, name: &ObjectName) -> Result<Option<u64>, ObjectStoreError> {
        let path = self.path(name);
        let head = async { Ok(self.backend.head(&path).await?.size) };
        match self.call("get", name.account, head).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ObjectStoreError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts an object, reads it, lists it and deletes it.
    pub async fn probe(&self) -> Result<(), ObjectStoreError> {
        const CONTENT: &[u8] = b"a probe of `overnight doctor`";
        let name = ObjectName::draw(PROBE).ok_or(ObjectStoreError::NoRandom)?;
        let reference = Reference::new(name, CONTENT);
        self.put(&name, Bytes::from_static(CONTENT)).await?;
        let got = self.get(&reference).await;
        let listed = self.list_of(PROBE).await;
        self.delete(&name).await?;
        if let Some(folder) = &self.folder {
            folder.remove_if_empty(self.folder_of(PROBE)).await?;
        }
        got?;
        match listed?.contains(&self.path(&name)) {
            true => Ok(()),
            false => Err(ObjectStoreError::Refused("a list lacks what was put".to_owned())),
        }
    }

    /// In the turn of the account; refused immediately while another call tries an unreachable store.
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
            return Err(ObjectStoreError::NotCalled);
        }
        let _trial = trial.ok().filter(|_| is_away);
        self.note(operation, call.await)
    }

    fn note<T>(
        &self,
        operation: &'static str,
        outcome: Result<T, ObjectStoreError>,
    ) -> Result<T, ObjectStoreError> {
        let is_away = outcome.as_ref().is_err_and(ObjectStoreError::is_away);
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

    /// Until the permit is dropped, the store counts as unreachable and another call tries it.
    #[cfg(test)]
    pub fn hold_away(&self) -> tokio::sync::SemaphorePermit<'_> {
        self.is_away.store(true, Ordering::Relaxed);
        self.trial.try_acquire().expect("nobody tries it")
    }

    fn folder_of(&self, account: AccountKey) -> Path {
        self.prefix.clone().join(account.0.to_string())
    }

    fn path(&self, name: &ObjectName) -> Path {
        self.folder_of(name.account).join(format!("{:032x}", u128::from_be_bytes(name.bits)))
    }

    /// `None` for a path that names no object.
    fn name_of(&self, path: &Path) -> Option<ObjectName> {
        let mut parts = path.prefix_match(&self.prefix)?;
        let (account, bits) = (parts.next()?, parts.next()?);
        let account = AccountKey(account.as_ref().parse().ok()?);
        let bits = u128::from_str_radix(bits.as_ref(), 16).ok()?.to_be_bytes();
        Some(ObjectName { account, bits }).filter(|name| self.path(name) == *path)
    }
}

fn count(operation: &'static str, outcome: &'static str) {
    metrics::counter!("overnight_object_store_operations_total", "operation" => operation, "outcome" => outcome)
        .increment(1);
}

#[cfg(test)]
mod tests;
