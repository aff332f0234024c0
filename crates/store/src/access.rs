//! Checks what this process may do with the files of a data folder. SQLite opens a file that it may not write and fails only at the first
//! write; to read a file, it creates others next to it.

use std::fs;
use std::io;
use std::path::Path;

use crate::database::folder::FolderLock;
use crate::database::{Database, beside};
use crate::error::StoreError;
use crate::options::{DATABASE_FILE, StoreOptions};

const ENDINGS: [&str; 3] = ["", "-wal", "-shm"];

/// The database for a command that only reads, and the lock that keeps services from its folder meanwhile. In a folder that cannot be
/// written, SQLite reads with the log that it finds there; without one, it treats the database as unchanging. Fails if the log holds
/// commits and its index is missing.
pub(super) fn to_read(options: &StoreOptions) -> Result<(Database, Option<FolderLock>), StoreError> {
    let (database, path) = (options.database()?, options.folder.join(DATABASE_FILE));
    let may_be_written = || [&options.folder, &path].into_iter().all(|path| check(path, true).is_ok());
    if options.server_url.is_some() || may_be_written() {
        return Ok((database, None));
    }
    let [log, index] = ["-wal", "-shm"].map(|ending| beside(&path, ending));
    let is_logged = fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    match FolderLock::share(&options.folder)? {
        Some(lock) if !is_logged => Ok((database.read_only(true), lock)),
        Some(_) if !index.exists() => {
            let why = "holds commits that cannot be read where no file can be made: copy the folder to where one can";
            Err(StoreError::File { path: log.display().to_string(), source: io::Error::other(why) })
        }
        _ => Ok((database.read_only(false), None)),
    }
}

/// Checks that this process may read the files of the folder's database, and write them if `writes`. The error names the first file that it
/// may not use, and its owner.
pub(super) fn check_files(folder: &Path, writes: bool) -> Result<(), StoreError> {
    let database = folder.join(DATABASE_FILE);
    for ending in ENDINGS {
        let path = beside(&database, ending);
        match check(&path, writes) {
            // It may be created later.
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
