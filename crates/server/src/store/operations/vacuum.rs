//! Writing the database of a data folder anew, without its free pages: the file is as short as it can be afterwards, and holds nothing
//! that was deleted, by releases either that did not overwrite what they deleted.

use std::fs;
use std::path::Path;

use futures_util::future::BoxFuture;
use serde::Serialize;
use thiserror::Error;

use crate::store::database::statements;
use crate::store::installation::Purpose;
use crate::store::options::DATABASE_FILE;
use crate::store::{DiskSpace, StoreError, StoreOptions, schema};

/// The new database is written into a file without a name, and from there through the log into the old one.
const COPIES: u64 = 2;

statements! {
    /// The bytes of pages that hold something.
    USED = { sqlite: "SELECT (page_count - freelist_count) * page_size AS bytes FROM pragma_page_count, pragma_freelist_count, pragma_page_size" };
}

/// Why a database was not written anew; it is as it was.
#[derive(Debug, Error)]
pub enum VacuumError {
    /// The database is no file.
    #[error("the database is a PostgreSQL, which vacuums itself")]
    OnServer,
    /// The folder holds none.
    #[error("{folder} holds no database")]
    Absent { folder: String },
    /// The disk has no room for the copies.
    #[error("it needs {needed} bytes on the disk of the data folder, and {free} are free")]
    NoRoom { needed: u64, free: u64 },
    /// What the store could not do.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How long the file was and is, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Vacuumed {
    /// Before.
    pub bytes_before: u64,
    pub bytes: u64,
}

/// Writes the database of `options` anew, while nobody serves its folder. One that breaks off leaves it as it was.
///
/// # Errors
/// A process serves the folder, the database is no file or cannot be used, or the disk has no room for two copies of what it holds.
pub fn vacuum(options: &StoreOptions) -> BoxFuture<'_, Result<Vacuumed, VacuumError>> {
    // Boxed, so that it is compiled here and not as a part of the program.
    Box::pin(async move {
        if options.server_url.is_some() {
            return Err(VacuumError::OnServer);
        }
        let path = options.folder.join(DATABASE_FILE);
        if !path.exists() {
            return Err(VacuumError::Absent { folder: options.folder.display().to_string() });
        }
        let (mut connection, lock) = schema::open_alone(options, Purpose::Change).await?;
        // What is in the log belongs to the file.
        connection.truncate_log().await?;
        let bytes_before = length(&path)?;
        let used: i64 = connection.fetch_one(USED.unbound()).await?.get("bytes")?;
        check_room(used, DiskSpace::measure(&path, 0, Some(0)))?;
        connection.vacuum(&options.folder)?;
        connection.truncate_log().await?;
        let bytes = length(&path)?;
        connection.close().await?;
        drop(lock);
        Ok(Vacuumed { bytes_before, bytes })
    })
}

/// Refuses so many bytes where the disk has no room for their copies.
fn check_room(used: i64, space: Option<DiskSpace>) -> Result<(), VacuumError> {
    let needed = COPIES * u64::try_from(used).unwrap_or(0);
    match space {
        Some(DiskSpace { free, .. }) if free < needed => Err(VacuumError::NoRoom { needed, free }),
        _ => Ok(()),
    }
}

fn length(path: &Path) -> Result<u64, StoreError> {
    let failed = |source| StoreError::File { path: path.display().to_string(), source };
    Ok(fs::metadata(path).map_err(failed)?.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_has_room_for_two_copies_of_what_is_used() {
        let check = |used, free| check_room(used, Some(DiskSpace { free, reserve: 0 }));
        assert!(check(500, 1_000).is_ok() && check(500, 9_000).is_ok() && check(0, 0).is_ok());
        for free in [999, 0] {
            let refused = check(500, free).expect_err("no room");
            assert!(matches!(refused, VacuumError::NoRoom { needed: 1_000, free: found } if found == free));
        }
        assert!(check_room(500, None).is_ok(), "nobody knows");
    }
}
