//! The keys by which the bodies and files of accounts are encrypted: made when an account first stores something, destroyed when it is erased.
//!
//! Bodies are encrypted at the store's edge. Where `[encryption]` is on, the functions of the store that take a request, a result or
//! a piece of a file encrypt it by its account's key (`store/encryption.rs`, `encryption/`) before it is in line for the writer, so
//! what is counted as stored is what is stored. Rows are decrypted where they are read from the database (`database/page.rs`,
//! `database/row.rs`), by the name of the key that stands in the value: no statement and no reader knows of it. `accounts.data_key`
//! names the key of an account before anything is encrypted by it, so that nodes agree on one and a service without it does not
//! start. Errors stay readable, because they are counted by their texts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overnight_base::encryption::{DataKey, DataKeyId, Keyring, KeyringError};
use overnight_domain::scheduler::AccountKey;

use crate::store::database::{Row, Tx, statements};
use crate::store::{Store, StoreError};

/// Of how many accounts the keys are kept at hand.
const KEPT_MAX: usize = 10_000;

statements! {
    FIND = "SELECT data_key FROM accounts WHERE seq = ?";
    LIST = "SELECT data_key FROM accounts WHERE data_key IS NOT NULL";
    SET = "UPDATE accounts SET data_key = ? WHERE seq = ? AND data_key IS NULL AND erased_at IS NULL";
    CLEAR = "UPDATE accounts SET data_key = NULL WHERE seq = ?";
}

/// The keys of the accounts that were heard of last.
pub(super) struct DataKeys {
    encrypts: bool,
    kept: Mutex<HashMap<AccountKey, Arc<DataKey>>>,
}

impl DataKeys {
    pub(super) fn new(encrypts: bool) -> Self {
        Self { encrypts, kept: Mutex::default() }
    }

    fn keep(&self, account: AccountKey, key: &Arc<DataKey>) {
        let mut kept = self.lock();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(account, Arc::clone(key));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AccountKey, Arc<DataKey>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Whether what is stored from now on is encrypted.
    pub(super) fn encrypts(&self) -> bool {
        self.data_keys().encrypts
    }

    /// By what the bodies and files of an account are encrypted that are stored from now on; `None` where they are not.
    pub(super) async fn data_key(&self, account: AccountKey) -> Result<Option<Arc<DataKey>>, StoreError> {
        let keys = self.data_keys();
        if !keys.encrypts {
            return Ok(None);
        }
        let kept = keys.lock().get(&account).cloned();
        let key = match kept {
            Some(key) => key,
            None => {
                let key = self.find_or_make_key(account).await?;
                keys.keep(account, &key);
                key
            }
        };
        Ok(Some(key))
    }

    async fn find_or_make_key(&self, account: AccountKey) -> Result<Arc<DataKey>, StoreError> {
        if let Some(id) = find(self, account).await? {
            return self.keyring(move |keyring| keyring.find(id)).await;
        }
        // On the disk before anything is encrypted by it, and in the database before others may make one.
        let key = self.keyring(Keyring::create).await?;
        let (set, id) = (SET.bind(key.id().number()).bind(account), key.id());
        if self.transaction(async move |tx: &mut Tx<'_>| Ok(tx.execute(set).await? > 0)).await? {
            return Ok(key);
        }
        self.keyring(move |keyring| keyring.destroy(id)).await?;
        let id = find(self, account).await?.ok_or(StoreError::Damaged("the key of an account"))?;
        self.keyring(move |keyring| keyring.find(id)).await
    }

    /// Does something with files of keys.
    async fn keyring<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Keyring) -> Result<T, KeyringError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let keyring = Arc::clone(self.database().keyring());
        let done =
            tokio::task::spawn_blocking(move || work(&keyring)).await.map_err(|_| StoreError::Stopped)?;
        Ok(done?)
    }
}

/// Destroys the key of an account of which nothing is left.
pub(super) async fn destroy(store: &Store, account: AccountKey) -> Result<(), StoreError> {
    let Some(id) = find(store, account).await? else { return Ok(()) };
    store.data_keys().lock().remove(&account);
    store.keyring(move |keyring| keyring.destroy(id)).await?;
    let clear = CLEAR.bind(account);
    store.transaction(async move |tx: &mut Tx<'_>| tx.execute(clear).await.map(drop)).await
}

/// Whether every key is there by which something was encrypted. Makes nothing.
///
/// # Errors
/// Which key is missing, or what else keeps them from being used.
pub async fn check_keys(store: &Store) -> Result<(), StoreError> {
    let rows = store.readers().fetch_all(LIST.unbound()).await?;
    let ids: Vec<DataKeyId> =
        rows.iter().filter_map(|row| read(row).transpose()).collect::<Result<_, _>>()?;
    if ids.is_empty() {
        return Ok(());
    }
    store.keyring(move |keyring| keyring.check(&ids)).await
}

/// Makes sure before anything is served that what is encrypted can be read, and what comes encrypted.
pub(super) async fn prepare(store: &Store) -> Result<(), StoreError> {
    check_keys(store).await?;
    match store.encrypts() {
        true => store.keyring(Keyring::prepare).await,
        false => Ok(()),
    }
}

async fn find(store: &Store, account: AccountKey) -> Result<Option<DataKeyId>, StoreError> {
    let row = store.readers().fetch_optional(FIND.bind(account)).await?;
    row.map_or(Ok(None), |row| read(&row))
}

fn read(row: &Row) -> Result<Option<DataKeyId>, StoreError> {
    let number: Option<i64> = row.get("data_key")?;
    number
        .map(|number| DataKeyId::from_number(number).ok_or(StoreError::DamagedColumn("data_key")))
        .transpose()
}
