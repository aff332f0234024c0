//! The folder of the keys: one file each, readable by its owner only.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::rand::{SecureRandom, SystemRandom};
use thiserror::Error;

use crate::private_files;

use super::data_key::{DataKey, DataKeyId};

/// Keys in memory, a few hundred bytes each.
const KEPT_MAX: usize = 10_000;

const SUFFIX: &str = ".key";

/// Why a value cannot be encrypted or decrypted.
#[derive(Debug, Error)]
pub enum KeyringError {
    #[error("the settings name no folder of keys, `encryption.key_dir`")]
    NoFolder,
    #[error("the key {id} is missing in {folder}")]
    Missing { id: DataKeyId, folder: String },
    #[error("{path} is not a key: 64 hexadecimal digits")]
    NotAKey { path: String },
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    /// A value was changed, or encrypted by another key.
    #[error("it is not as it was written")]
    Damaged,
    #[error("the system gives no random numbers")]
    NoRandom,
}

#[derive(Debug, Default)]
pub struct Keyring {
    folder: Option<PathBuf>,
    /// Whether encrypted values are returned as they are stored.
    is_bypassed: bool,
    kept: Mutex<HashMap<DataKeyId, Arc<DataKey>>>,
}

impl Keyring {
    /// `None`: no keys. The folder is not opened yet.
    pub fn of(folder: Option<PathBuf>) -> Self {
        Self { folder, ..Self::default() }
    }

    /// Returns encrypted values as they are stored.
    pub fn bypassed() -> Self {
        Self { is_bypassed: true, ..Self::default() }
    }

    pub const fn is_bypassed(&self) -> bool {
        self.is_bypassed
    }

    /// Creates the folder if it is absent. Fails if other users can access it.
    pub fn prepare(&self) -> Result<(), KeyringError> {
        let folder = self.folder()?;
        private_files::make_folder(folder).and_then(|()| check_private(folder)).map_err(failed(folder))
    }

    pub fn find(&self, id: DataKeyId) -> Result<Arc<DataKey>, KeyringError> {
        if let Some(key) = self.lock().get(&id) {
            return Ok(Arc::clone(key));
        }
        let path = self.path(id)?;
        let text = fs::read_to_string(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => {
                let folder = self.folder.as_deref().unwrap_or(Path::new("")).display().to_string();
                KeyringError::Missing { id, folder }
            }
            _ => failed(&path)(source),
        })?;
        let secret =
            secret(&text).ok_or_else(|| KeyringError::NotAKey { path: path.display().to_string() })?;
        let key = Arc::new(DataKey::new(id, &secret));
        self.keep(&key);
        Ok(key)
    }

    /// A new key. It is synced to disk when this returns.
    pub fn create(&self) -> Result<Arc<DataKey>, KeyringError> {
        let random = SystemRandom::new();
        let id = DataKeyId::draw(&random).ok_or(KeyringError::NoRandom)?;
        let mut secret = [0; 32];
        random.fill(&mut secret).map_err(|_| KeyringError::NoRandom)?;
        let path = self.path(id)?;
        let text: String = secret.iter().map(|byte| format!("{byte:02x}")).chain(["\n".to_owned()]).collect();
        private_files::replace(&path, text.as_bytes()).map_err(failed(&path))?;
        let key = Arc::new(DataKey::new(id, &secret));
        self.keep(&key);
        Ok(key)
    }

    pub fn destroy(&self, id: DataKeyId) -> Result<(), KeyringError> {
        let (folder, path) = (self.folder()?, self.path(id)?);
        self.lock().remove(&id);
        private_files::remove(&path).and_then(|()| private_files::sync_folder(folder)).map_err(failed(&path))
    }

    /// Fails if one of these keys is missing, is not a key or is accessible to other users.
    pub fn check(&self, ids: &[DataKeyId]) -> Result<(), KeyringError> {
        let folder = self.folder()?;
        ids.iter().try_for_each(|id| self.find(*id).map(drop))?;
        check_private(folder).map_err(failed(folder))
    }

    pub fn ids(&self) -> Result<BTreeSet<DataKeyId>, KeyringError> {
        let folder = self.folder()?;
        let mut ids = BTreeSet::<DataKeyId>::new();
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ids),
            entries => entries.map_err(failed(folder))?,
        };
        for entry in entries {
            let name = entry.map_err(failed(folder))?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)?.parse::<DataKeyId>().ok());
            ids.extend(id);
        }
        Ok(ids)
    }

    pub fn folder(&self) -> Result<&Path, KeyringError> {
        self.folder.as_deref().ok_or(KeyringError::NoFolder)
    }

    fn path(&self, id: DataKeyId) -> Result<PathBuf, KeyringError> {
        Ok(self.folder()?.join(format!("{id}{SUFFIX}")))
    }

    fn keep(&self, key: &Arc<DataKey>) {
        let mut kept = self.lock();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(key.id(), Arc::clone(key));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<DataKeyId, Arc<DataKey>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> KeyringError {
    move |source| KeyringError::File { path: path.display().to_string(), source }
}

#[cfg(unix)]
fn check_private(folder: &Path) -> io::Result<()> {
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(folder)?.permissions());
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let why = format!("others than its owner can use it: run `chmod 700 {}`", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

#[cfg(not(unix))]
fn check_private(_: &Path) -> io::Result<()> {
    Ok(())
}

/// From the 64 hexadecimal digits of a file.
fn secret(text: &str) -> Option<[u8; 32]> {
    let text = text.trim_end_matches('\n');
    let mut secret = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (place, byte) in secret.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(secret)
}
