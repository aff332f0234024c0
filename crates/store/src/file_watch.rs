//! Whether the files that this process has open are still in the data folder. Data written to a file without a name is lost with the
//! process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Store;
use crate::StoreError;
use crate::database::folder::LOCK_FILE;
use crate::options::DATABASE_FILE;

pub(super) const FILES: &str = "store_files";

/// The files of a served folder, with their identities at opening.
#[derive(Debug)]
pub(super) struct FileWatch {
    files: Vec<(PathBuf, Identity)>,
}

/// Device and inode, if the system has them.
type Identity = (u64, u64);

impl FileWatch {
    pub(super) fn of(folder: &Path) -> Self {
        let names = ["", "-wal", "-shm"].map(|ending| format!("{DATABASE_FILE}{ending}"));
        let paths = names.iter().map(String::as_str).chain([LOCK_FILE]).map(|name| folder.join(name));
        Self { files: paths.filter_map(|path| Some((path.clone(), identity(&path).ok()?))).collect() }
    }

    /// What happened to a file that is not in its place.
    pub(super) fn fault(&self) -> Option<String> {
        self.files.iter().find_map(|(path, opened)| {
            let what = match identity(path) {
                Ok(found) if found == *opened => return None,
                Ok(_) => "was replaced by another file",
                Err(error) if error.kind() == io::ErrorKind::NotFound => "was removed or moved",
                // Unknown.
                Err(_) => return None,
            };
            Some(format!("{} {what} while the service had it open", path.display()))
        })
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|_| (0, 0))
}

/// Checks that the files of a served folder are in their places. If one is not, writing stops, waiting writes are refused, and the process
/// ends. Fails with [`StoreError::Stopped`] if the process is ending already.
pub async fn check(store: &Store) -> Result<(), StoreError> {
    let Some(watch) = store.file_watch().cloned() else { return Ok(()) };
    // A disk may be slow.
    let fault = tokio::task::spawn_blocking(move || watch.fault()).await.map_err(|_| StoreError::Stopped)?;
    if let Some(fault) = fault {
        store.supervisor().files_gone(FILES, fault);
        store.writer().abandon();
    }
    Ok(())
}
