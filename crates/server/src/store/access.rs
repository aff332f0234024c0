//! What this process may do with the files of a data folder. SQLite opens a file that it may not write, and fails at the first write; and to
//! read one, it makes files beside it.

use std::fs;
use std::io;
use std::path::Path;

use crate::store::database::folder::FolderLock;
use crate::store::database::{Database, beside};
use crate::store::error::StoreError;
use crate::store::options::DATABASE_FILE;

/// The files of a database.
const ENDINGS: [&str; 3] = ["", "-wal", "-shm"];

/// How a command that reads opens a data folder.
#[derive(Debug)]
pub(super) enum Reading {
    /// With files that it makes or finds beside the database.
    Usual,
    /// With those that it finds: another process, or one that crashed, has made them.
    Found,
    /// As a file that does not change. No service can begin while this is held.
    Frozen(Option<FolderLock>),
}

impl Reading {
    /// How this folder is read. One that can be written is read as usual.
    ///
    /// # Errors
    /// The log of the database holds commits, and its index is missing, which cannot be made here.
    pub(super) fn of(folder: &Path) -> Result<Self, StoreError> {
        let database = folder.join(DATABASE_FILE);
        if [folder, &database].into_iter().all(|path| check(path, true).is_ok()) {
            return Ok(Self::Usual);
        }
        let [log, index] = ["-wal", "-shm"].map(|ending| beside(&database, ending));
        let is_logged = fs::metadata(&log).is_ok_and(|log| log.len() > 0);
        match (FolderLock::share(folder)?, is_logged) {
            (Some(lock), false) => Ok(Self::Frozen(lock)),
            (Some(_), true) if !index.exists() => {
                let why = "holds commits that cannot be read where no file can be made: copy the folder to where one can";
                Err(StoreError::File { path: log.display().to_string(), source: io::Error::other(why) })
            }
            _ => Ok(Self::Found),
        }
    }

    /// The database, opened so, and what is held meanwhile.
    pub(super) fn apply(self, database: Database) -> (Database, Option<FolderLock>) {
        match self {
            Self::Usual => (database, None),
            Self::Found => (database.read_only(false), None),
            Self::Frozen(lock) => (database.read_only(true), lock),
        }
    }
}

/// Checks that this process may read the files of the folder's database, and write them where it `writes`.
///
/// # Errors
/// The first file that it may not use, with whose it is.
pub(super) fn check_files(folder: &Path, writes: bool) -> Result<(), StoreError> {
    let database = folder.join(DATABASE_FILE);
    for ending in ENDINGS {
        let path = beside(&database, ending);
        match check(&path, writes) {
            // It may be made yet.
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::File { path: path.display().to_string(), source });
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(unix)]
fn check(path: &Path, writes: bool) -> io::Result<()> {
    use rustix::fs::{Access, access};

    let wanted = if writes { Access::READ_OK | Access::WRITE_OK } else { Access::READ_OK };
    Ok(access(path, wanted)?)
}

#[cfg(not(unix))]
fn check(path: &Path, writes: bool) -> io::Result<()> {
    match fs::metadata(path)?.permissions().readonly() && writes {
        true => Err(io::ErrorKind::PermissionDenied.into()),
        false => Ok(()),
    }
}
