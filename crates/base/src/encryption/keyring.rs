//! The folder of the keys: a file for each, for its owner only.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::rand::{SecureRandom, SystemRandom};
use thiserror::Error;

use super::data_key::{DataKey, DataKeyId};

/// How many keys are kept in memory, a few hundred bytes each.
const KEPT_MAX: usize = 10_000;

const SUFFIX: &str = ".key";

/// Why a value cannot be encrypted or decrypted.
#[derive(Debug, Error)]
pub enum KeyringError {
    /// The settings name no folder of keys.
    #[error("the settings name no folder of keys, `encryption.key_dir`")]
    NoFolder,
    #[error("the key {id} is missing in {folder}")]
    Missing {
        id: DataKeyId,
        /// Where it should be.
        folder: String,
    },
    /// The folder, or a file in it, cannot be used.
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    /// A key, or what was encrypted by it, is not as it was written.
    #[error("it is not as it was written")]
    Damaged,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandom,
}

#[derive(Debug, Default)]
pub struct Keyring {
    folder: Option<PathBuf>,
    /// Whether what is encrypted is read as it is stored.
    is_bypassed: bool,
    kept: Mutex<HashMap<DataKeyId, Arc<DataKey>>>,
}

impl Keyring {
    /// The keys in a folder, which is not looked at yet; of `None` there are none.
    pub fn of(folder: Option<PathBuf>) -> Self {
        Self { folder, ..Self::default() }
    }

    /// Reads what is encrypted as it is stored.
    pub fn bypassed() -> Self {
        Self { is_bypassed: true, ..Self::default() }
    }

    pub const fn is_bypassed(&self) -> bool {
        self.is_bypassed
    }

    /// Makes the folder where it is absent.
    ///
    /// # Errors
    /// Where it cannot be made or others than its owner can use it.
    pub fn prepare(&self) -> Result<(), KeyringError> {
        let folder = self.folder()?;
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).and_then(|()| check_private(folder)).map_err(failed(folder))
    }

    /// The key of this name.
    ///
    /// # Errors
    /// Where it is missing or cannot be read.
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
        let secret = secret(&text).ok_or(KeyringError::Damaged)?;
        let key = Arc::new(DataKey::new(id, &secret));
        self.keep(&key);
        Ok(key)
    }

    /// A new key. It is on the disk when this returns.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn create(&self) -> Result<Arc<DataKey>, KeyringError> {
        let random = SystemRandom::new();
        let id = DataKeyId::draw(&random).ok_or(KeyringError::NoRandom)?;
        let mut secret = [0; 32];
        random.fill(&mut secret).map_err(|_| KeyringError::NoRandom)?;
        let (folder, path) = (self.folder()?, self.path(id)?);
        let text: String = secret.iter().map(|byte| format!("{byte:02x}")).chain(["\n".to_owned()]).collect();
        write_new(folder, &path, &text).map_err(failed(&path))?;
        let key = Arc::new(DataKey::new(id, &secret));
        self.keep(&key);
        Ok(key)
    }

    /// Destroys a key, if it is there.
    ///
    /// # Errors
    /// Where its file cannot be removed.
    pub fn destroy(&self, id: DataKeyId) -> Result<(), KeyringError> {
        let (folder, path) = (self.folder()?, self.path(id)?);
        self.lock().remove(&id);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.and_then(|()| sync(folder)).map_err(failed(&path)),
        }
    }

    /// Whether these keys are there, and others than their owner cannot use them.
    ///
    /// # Errors
    /// Which one is missing, or how others can.
    pub fn check(&self, ids: &[DataKeyId]) -> Result<(), KeyringError> {
        let (folder, there) = (self.folder()?, self.ids()?);
        match ids.iter().find(|id| !there.contains(id)) {
            Some(&id) => Err(KeyringError::Missing { id, folder: folder.display().to_string() }),
            None if ids.is_empty() => Ok(()),
            None => check_private(folder).map_err(failed(folder)),
        }
    }

    /// The names of all keys that there are.
    ///
    /// # Errors
    /// Where the folder cannot be read.
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

    /// Where the keys are.
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

/// Writes a file of this name, which is whole or absent, and waits until it is on the disk.
fn write_new(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    let coming = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&coming)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&coming, path)?;
    sync(folder)
}

/// Waits until the names in a folder are on the disk.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
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

/// The 64 hexadecimal digits of a file.
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
