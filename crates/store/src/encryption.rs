//! The keys that encrypt bodies and files of accounts: created when an account first stores something, destroyed when it is erased.
//!
//! Bodies are encrypted at the store's edge. With `[encryption]`, functions that take a request, a result or a piece of a file encrypt it
//! by its account's key (`store/encryption.rs`, `encryption/`) before it is queued for the writer, so quotas count the encrypted bytes.
//! Rows are decrypted when they are read from the database (`database/page.rs`, `database/row.rs`), by the key's name in the value:
//! statements and readers are unaware. `accounts.data_key` names the key of an account before anything is encrypted by it, so that nodes
//! agree on one and a service without it does not start. Errors stay readable, because they are counted by their texts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overnight_base::encryption::{DataKey, DataKeyId, Keyring, KeyringError};
use overnight_domain::scheduler::AccountKey;

use crate::database::{Row, Tx, statements};
use crate::{Store, StoreError};

/// Accounts whose keys are cached.
const KEPT_MAX: usize = 10_000;

statements! {
    FIND = "SELECT data_key FROM accounts WHERE seq = ?";
    IS_OF_ANOTHER = "SELECT 1 AS one FROM accounts WHERE data_key = ? AND seq <> ? LIMIT 1";
    LIST = "SELECT data_key FROM accounts WHERE data_key IS NOT NULL";
    SET = "UPDATE accounts SET data_key = ? WHERE seq = ? AND data_key IS NULL AND erased_at IS NULL";
    CLEAR = "UPDATE accounts SET data_key = NULL WHERE seq = ?";
}

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
    /// Whether new data is encrypted.
    pub(super) fn encrypts(&self) -> bool {
        self.data_keys().encrypts
    }

    /// The key for an account's new bodies and files; `None` if they are not encrypted.
    pub(super) async fn data_key(&self, account: AccountKey) -> Result<Option<Arc<DataKey>>, StoreError> {
        let keys = self.data_keys();
        if !keys.encrypts {
            return Ok(None);
        }
        let kept = keys.lock().get(&account).cloned();
        let key = match kept {
            Some(key) => key,
            None => {
                // Boxed, because every create may come here and few do.
                let key = Box::pin(self.find_or_make_key(account)).await?;
                keys.keep(account, &key);
                key
            }
        };
        Ok(Some(key))
    }

    /// The digest to be stored for `digest`, the SHA-256 of what an account sent. With encryption the account's key goes into it: otherwise
    /// a copy of the database could tell whether a guess of the content is right.
    pub async fn content_digest(
        &self,
        account: AccountKey,
        digest: [u8; 32],
    ) -> Result<[u8; 32], StoreError> {
        match self.data_key(account).await? {
            Some(key) => Ok(key.digest(&digest).ok_or(KeyringError::Damaged)?),
            None => Ok(digest),
        }
    }

    async fn find_or_make_key(&self, account: AccountKey) -> Result<Arc<DataKey>, StoreError> {
        if let Some(id) = find(self, account).await? {
            return self.keyring(move |keyring| keyring.find(id)).await;
        }
        // On the disk before anything is encrypted by it, and in the database before others may create one.
        let key = self.keyring(Keyring::create).await?;
        let (set, id) = (SET.bind(key.id().number()).bind(account), key.id());
        if self.transaction(async move |tx: &mut Tx<'_>| Ok(tx.execute(set).await? > 0)).await? {
            return Ok(key);
        }
        self.keyring(move |keyring| keyring.destroy(id)).await?;
        let id = find(self, account).await?.ok_or(StoreError::Damaged("the key of an account"))?;
        self.keyring(move |keyring| keyring.find(id)).await
    }

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

/// Of an account with no data left. A key that another account has too, which the audit reports, stays for that one.
pub(super) async fn destroy(store: &Store, account: AccountKey) -> Result<(), StoreError> {
    let Some(id) = find(store, account).await? else { return Ok(()) };
    store.data_keys().lock().remove(&account);
    let shared = store.readers().fetch_optional(IS_OF_ANOTHER.bind(id.number()).bind(account)).await?;
    if shared.is_some() {
        tracing::error!(key = %id, account = account.0, "encryption key kept: another account has the same");
    } else {
        store.keyring(move |keyring| keyring.destroy(id)).await?;
    }
    let clear = CLEAR.bind(account);
    store.transaction(async move |tx: &mut Tx<'_>| tx.execute(clear).await.map(drop)).await
}

/// Checks that every key in use exists; creates none.
pub async fn check_keys(store: &Store) -> Result<(), StoreError> {
    let rows = store.readers().fetch_all(LIST.unbound()).await?;
    let ids: Vec<DataKeyId> =
        rows.iter().filter_map(|row| read(row).transpose()).collect::<Result<_, _>>()?;
    if ids.is_empty() {
        return Ok(());
    }
    store.keyring(move |keyring| keyring.check(&ids)).await
}

/// Makes sure before serving that encrypted data can be read, and new data encrypted.
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
