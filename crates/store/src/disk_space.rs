//! Free space of the data folder's disk, and the reserve that creates leave to accepted work.

use std::path::Path;

use crate::database::{Row, statements};
use crate::error::StoreError;

/// The default reserve is the disk divided by this, at most [`DEFAULT_MAX`] bytes.
const DEFAULT_PART: u64 = 20;
const DEFAULT_MAX: u64 = 1 << 30;

/// A write passes through the log before it reaches a free page, and the log needs the disk: free pages count up to this many times the
/// disk's free space.
const FREE_PAGES_MAX: u64 = 3;

statements! {
    /// Bytes of free pages, which are used before the file grows.
    FREE_PAGES = { sqlite: "SELECT freelist_count * page_size AS bytes FROM pragma_freelist_count, pragma_page_size" };
}

/// The space on the disk of the data folder, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Free space of the disk, and free pages of the database.
    pub free: u64,
    /// Left free by creates; 0 for no reserve.
    pub reserve: u64,
}

impl DiskSpace {
    /// Measures the disk of `path`. `free_pages` is the bytes of the database's free pages, `setting` the reserve, `None` for the default.
    /// Returns `None` if the system does not report its disks.
    pub fn measure(path: &Path, free_pages: u64, setting: Option<u64>) -> Option<Self> {
        let (available, total) = measure_disk(path)?;
        let reserve = setting.unwrap_or_else(|| (total / DEFAULT_PART).min(DEFAULT_MAX));
        let free_pages = free_pages.min(available.saturating_mul(FREE_PAGES_MAX));
        Some(Self { free: available.saturating_add(free_pages), reserve })
    }
}

/// An account's default quota of stored bytes: half of the disk of `path`, so that no account fills it. `None` if the system does not
/// report it.
pub(super) fn default_quota(path: &Path) -> Option<i64> {
    let (_, total) = measure_disk(path)?;
    i64::try_from(total / 2).ok()
}

pub(super) fn read_free_pages(row: &Row) -> Result<u64, StoreError> {
    Ok(u64::try_from(row.get::<i64>("bytes")?).unwrap_or(0))
}

/// Bytes that this process may still write, and the size of the disk.
#[cfg(unix)]
fn measure_disk(path: &Path) -> Option<(u64, u64)> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some((disk.f_bavail.saturating_mul(disk.f_frsize), disk.f_blocks.saturating_mul(disk.f_frsize)))
}

#[cfg(not(unix))]
fn measure_disk(_path: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_a_twentieth_of_the_disk_and_a_gibibyte_at_most() {
        let folder = tempfile::tempdir().expect("a folder");
        let (_, total) = measure_disk(folder.path()).expect("a disk");
        let reserve = |setting| DiskSpace::measure(folder.path(), 0, setting).expect("a disk").reserve;
        assert_eq!((reserve(None), reserve(Some(7))), ((total / 20).min(1 << 30), 7));
        assert_eq!(DiskSpace::measure(&folder.path().join("absent"), 0, None), None);
    }

    #[test]
    fn free_pages_count_as_far_as_the_log_has_room_for_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let free = |pages| DiskSpace::measure(folder.path(), pages, None).expect("a disk").free;
        let (none, all) = (free(0), free(u64::MAX));
        // Others write to this disk meanwhile.
        assert!(all > none * 3 && all < none * 5, "{none} and {all}");
    }
}
