//! Bodies above a size, stored as objects. The schema describes their rows.
//!
//! An object is put between two commits: the first announces it, the second marks it as in use. So objects in use exist, and unused ones,
//! whatever caused them, are found and deleted.
//!
//! With `[object_store]`, functions that store bodies put a large one into the object store (`object_store/`) and store a reference in its
//! place: another kind of marked value, with the object's account, name, length and digest. A row of `objects` is committed before the put,
//! and marked as in use by the transaction that stores the reference (`store/objects/table.rs`), which fails if the row is gone or being
//! deleted. A worker finds rows that a crash leaves (`store/objects/sweep.rs`). A row that is read marks a column as a reference, never as
//! bytes; `Store::load` fetches the object after the reader is given back. Lists fetch some side by side (`requests/beside.rs`), up to a
//! page's bytes, and the scheduler postpones a request whose body cannot be read (`SchedulerInput::Unread`). An object names the owner of
//! the others (`store/objects/owner.rs`); it is read before a put or deletion, because objects missing in a wrong bucket would count as
//! deleted.

pub(crate) mod audit;
pub(crate) mod owner;
pub(crate) mod sweep;
pub(crate) mod table;
pub(crate) mod unused;

pub use self::audit::{Present, audit};
pub use self::owner::probe;
pub use self::sweep::{Waiting, sweep, waiting};

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{BoxFuture, join_all};
use overnight_base::clock::SharedClock;
use overnight_base::encryption::{self, KeyringError};
use overnight_base::planted_bugs::Bug;
use overnight_domain::scheduler::AccountKey;
use tokio::sync::Semaphore;

use self::table::{DISCARD, FORGET, GIVE_UP, PUT_MS, ReserveObject};
use self::unused::QuotaCache;
use crate::database::{Row, Tx, Value};
use crate::object_store::{ObjectName, ObjectStore, ObjectStoreError, ObjectStoreOptions, Reference};
use crate::{Store, StoreError};

/// Bytes of results that are being put or wait for that. An engine continues meanwhile, however slow the object store is.
const RESULT_BYTES_MAX: usize = 64 << 20;

/// The configured object store, if any.
pub(super) struct Objects {
    store: Option<ObjectStore>,
    min_bytes: Option<usize>,
    /// Permits for bytes of results.
    result_bytes: Semaphore,
    quota_cache: QuotaCache,
    clock: SharedClock,
}

impl Objects {
    pub(super) fn open(options: Option<&ObjectStoreOptions>, clock: SharedClock) -> Result<Self, StoreError> {
        let store = options.map(ObjectStore::open).transpose()?;
        let min_bytes = options.and_then(|options| options.min_bytes);
        let result_bytes = Semaphore::new(RESULT_BYTES_MAX);
        let quota_cache = QuotaCache::new(Arc::clone(&clock));
        Ok(Self { store, min_bytes, result_bytes, quota_cache, clock })
    }

    /// Leaves this many bytes to results.
    #[cfg(test)]
    pub(super) fn hold_all_but(&self, bytes: usize) -> tokio::sync::SemaphorePermit<'_> {
        let held = u32::try_from(RESULT_BYTES_MAX - bytes).expect("few bytes");
        self.result_bytes.try_acquire_many(held).expect("nothing is put")
    }

    /// Forgets cached quotas.
    #[cfg(test)]
    pub(super) fn forget_quotas(&self) {
        self.quota_cache.forget();
    }

    /// Fails if none is configured.
    pub(super) fn store(&self) -> Result<&ObjectStore, ObjectStoreError> {
        self.store.as_ref().ok_or(ObjectStoreError::NotNamed)
    }
}

impl Store {
    /// Whether a body is for the object store, if its account may put one.
    pub fn is_large(&self, body: &[u8]) -> bool {
        self.objects().min_bytes.is_some_and(|min| body.len() >= min)
    }

    /// A body as stored in the database: encrypted if configured; a large one, if its account may put it, as the name of its object, which
    /// is put before this returns.
    pub(super) fn stored(
        &self,
        account: AccountKey,
        body: Bytes,
        now: i64,
    ) -> BoxFuture<'_, Result<Bytes, StoreError>> {
        // Boxed, so that callers with small bodies hold no room for all of it.
        Box::pin(async move {
            let is_put = self.is_put(account, &body).await?;
            let body = self.encrypted(account, body).await?;
            if is_put { self.put(account, body, now).await } else { Ok(body) }
        })
    }

    async fn is_put(&self, account: AccountKey, body: &[u8]) -> Result<bool, StoreError> {
        Ok(self.is_large(body) && unused::is_within_quota(self, account).await?)
    }

    /// In the database if the object store is unreachable or overloaded.
    pub(super) async fn stored_somewhere(
        &self,
        account: AccountKey,
        body: Bytes,
        now: i64,
    ) -> Result<Bytes, StoreError> {
        let is_put = self.is_put(account, &body).await?;
        let body = self.encrypted(account, body).await?;
        if !is_put {
            return Ok(body);
        }
        let bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let Ok(_bytes) = self.objects().result_bytes.try_acquire_many(bytes) else {
            tracing::info!("a result is stored in the database instead: many wait for the object store");
            return Ok(body);
        };
        match Box::pin(self.put(account, body.clone(), now)).await {
            Err(StoreError::ObjectStore(error)) => {
                tracing::warn!(%error, "a result is stored in the database instead");
                Ok(body)
            }
            put => put,
        }
    }

    /// As stored in the database, whatever its length.
    pub(super) async fn encrypted(&self, account: AccountKey, body: Bytes) -> Result<Bytes, StoreError> {
        match self.data_key(account).await? {
            Some(key) => Ok(key.encrypt(&body).ok_or(KeyringError::NoRandom)?),
            None => Ok(encryption::unencrypted(body)),
        }
    }

    async fn put(&self, account: AccountKey, body: Bytes, now: i64) -> Result<Bytes, StoreError> {
        let name = ObjectName::draw(account).ok_or(ObjectStoreError::NoRandom)?;
        let reference = Reference::new(name, &body);
        owner::check_to_put(self, account).await?;
        self.writer().write(ReserveObject { name, bytes: body.len(), now }).await?;
        if Bug::ObjectPutLate.is_planted() {
            let store = self.clone();
            tokio::spawn(async move { store.objects().store()?.put(&name, body).await });
            return Ok(reference.to_stored());
        }
        if let Err(error) = self.objects().store()?.put(&name, body).await {
            self.give_up(&name, &error).await;
            return Err(error.into());
        }
        Ok(reference.to_stored())
    }

    /// Gives up an object that may not have been put. If this fails, it is found later.
    async fn give_up(&self, name: &ObjectName, error: &ObjectStoreError) {
        let bits = name.bits.to_vec();
        let give_up = match error {
            ObjectStoreError::NotCalled => FORGET.bind(bits),
            _ => GIVE_UP.bind(self.objects().clock.now() + PUT_MS).bind(bits),
        };
        let given_up = self.transaction(async move |tx: &mut Tx<'_>| tx.execute(give_up).await).await;
        if let Err(error) = given_up {
            tracing::debug!(%error, "an object that was not put is not given up yet");
        }
    }

    /// Gives up objects named by values that are not stored after all. If this fails, they are found later.
    pub(super) async fn discard<'v>(&self, values: impl IntoIterator<Item = &'v Bytes>) {
        let names = values.into_iter().filter_map(|value| Reference::read(value));
        let rows: Vec<Value> = names.map(|reference| reference.name.bits.to_vec().into()).collect();
        if rows.is_empty() {
            return;
        }
        let discard = DISCARD.over([], rows);
        let discarded = self.transaction(async move |tx: &mut Tx<'_>| tx.execute(discard).await).await;
        if let Err(error) = discarded {
            tracing::debug!(%error, "objects are not given up yet");
        }
    }

    /// The body of a column, wherever it is.
    pub(super) async fn load(&self, row: &Row, column: &'static str) -> Result<Option<Bytes>, StoreError> {
        let Some(reference) = row.reference(column)? else { return row.share(column) };
        let stored = match self.objects().store()?.get(&reference).await {
            Err(missing @ ObjectStoreError::Missing(_)) => {
                // Every object is missing in another object store.
                owner::check(self, reference.name.account).await?;
                return Err(missing.into());
            }
            got => got?,
        };
        if !encryption::is_marked(&stored) {
            return Ok(Some(stored));
        }
        Ok(Some(encryption::read(&stored, self.database().keyring())?.into_owned().into()))
    }
}

/// In order: all of them or none.
pub(super) async fn all_stored(
    store: &Store,
    account: AccountKey,
    bodies: Vec<Bytes>,
    now: i64,
) -> Result<Vec<Bytes>, StoreError> {
    let all = join_all(bodies.into_iter().map(|body| store.stored(account, body, now))).await;
    if all.iter().all(Result::is_ok) {
        return all.into_iter().collect();
    }
    store.discard(all.iter().flatten()).await;
    all.into_iter().collect()
}

/// Checks before serving that the object store with bodies is configured.
pub(super) async fn check(store: &Store) -> Result<(), StoreError> {
    if store.objects().store.is_none() && owner::is_any(store).await? {
        return Err(ObjectStoreError::NotNamed.into());
    }
    Ok(())
}
