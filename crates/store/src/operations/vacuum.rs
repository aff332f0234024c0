//! Rewriting the database of a data folder without free pages: the file becomes as short as it can be, without deleted data, including that
//! of releases that did not overwrite it.

use std::fs;
use std::path::Path;

use futures_util::future::BoxFuture;
use serde::Serialize;
use thiserror::Error;

use crate::database::statements;
use crate::installation::Purpose;
use crate::options::DATABASE_FILE;
use crate::{DiskSpace, StoreError, StoreOptions, schema};

/// The new database is written into an unnamed file, and from there through the log into the old one.
const COPIES: u64 = 2;

statements! {
    /// Bytes of used pages.
    USED = { sqlite: "SELECT (page_count - freelist_count) * page_size AS bytes FROM pragma_page_count, pragma_freelist_count, pragma_page_size" };
}

/// The database is unchanged.
#[derive(Debug, Error)]
pub enum VacuumError {
    /// The database is on a server.
    #[error("the database is a PostgreSQL, which vacuums itself")]
    OnServer,
    /// The folder has no database.
    #[error("{folder} holds no database")]
    Absent { folder: String },
    #[error("it needs {needed} bytes on the disk of the data folder, and {free} are free")]
    NoRoom { needed: u64, free: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Length of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Vacuumed {
    pub bytes_before: u64,
    pub bytes: u64,
}

/// Rewrites the database of `options`, which must not be served. If interrupted, the database is unchanged. Fails if the disk has no room
/// for two copies of its data.
pub fn vacuum(options: &StoreOptions) -> BoxFuture<'_, Result<Vacuumed, VacuumError>> {
    // Boxed, so that it is compiled once here, not in each program.
    Box::pin(async move {
        if options.server_url.is_some() {
            return Err(VacuumError::OnServer);
        }
        let path = options.folder.join(DATABASE_FILE);
        if !path.exists() {
            return Err(VacuumError::Absent { folder: options.folder.display().to_string() });
        }
        let (mut connection, lock) = schema::open_alone(options, Purpose::Change).await?;
        // Pages in the log belong to the file.
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

/// Fails if the disk has no room for the copies of `used` bytes.
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
