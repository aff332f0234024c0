//! The data folder belongs to one server at a time, and to its owner only.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;

use overnight_base::private_files;

use crate::error::StoreError;
use crate::exposures::narrow;

/// In the data folder.
pub const LOCK_FILE: &str = "overnight.lock";

/// Released on drop, even while a process that another thread starts still shares the file, as it does until it runs its program.
#[derive(Debug)]
pub(crate) struct HeldLock(File);

impl HeldLock {
    pub(crate) const fn of(file: File) -> Self {
        Self(file)
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// An exclusive lock on a data folder, until it is dropped or the process ends.
#[derive(Debug)]
pub struct FolderLock {
    _held: HeldLock,
}

impl FolderLock {
    /// Takes the lock, or names the process that holds it.
    pub fn take(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(LOCK_FILE);
        let failed = |source| StoreError::File { path: path.display().to_string(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                file.read_to_string(&mut pid).map_err(failed)?;
                return Err(StoreError::Locked {
                    folder: folder.display().to_string(),
                    pid: pid.trim().to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { _held: HeldLock::of(file) })
    }

    /// Keeps services from the folder; `None` if one serves it, `Some(None)` if it has no lock and never had a service.
    pub(crate) fn share(folder: &Path) -> Result<Option<Option<Self>>, StoreError> {
        let path = folder.join(LOCK_FILE);
        let failed = |source| StoreError::File { path: path.display().to_string(), source };
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(None)),
            file => file.map_err(failed)?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Some(Self { _held: HeldLock::of(file) }))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    pub fn holder(folder: &Path) -> Option<String> {
        let mut file = File::open(folder.join(LOCK_FILE)).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                file.read_to_string(&mut pid).ok()?;
                Some(pid.trim().to_owned())
            }
            _ => None,
        }
    }
}

/// Creates the data folder for its owner only, or removes others' access to an existing one: its own mode, if it holds only our files, and
/// the modes of those. Files of other users stay as they are; if only a group can use them, that is logged. Fails with
/// [`StoreError::Exposed`] if every user of this machine can still read or replace stored data.
pub fn prepare_folder(folder: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::File { path: folder.display().to_string(), source };
    private_files::make_folder(folder).map_err(failed)?;
    for exposure in narrow(folder) {
        if exposure.is_public {
            return Err(StoreError::Exposed(exposure));
        }
        tracing::warn!("{exposure}: `{}`", exposure.correction());
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::{FolderLock, HeldLock, LOCK_FILE};

    #[test]
    fn a_lock_ends_though_a_process_that_begins_shares_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = std::fs::File::create(folder.path().join(LOCK_FILE)).expect("a file");
        file.try_lock().expect("a lock");
        let _shared = file.try_clone().expect("what a fork has");
        let held = HeldLock::of(file);
        assert!(FolderLock::take(folder.path()).is_err());
        drop(held);
        FolderLock::take(folder.path()).expect("a lock that is free");
    }
}
