//! Who owns what a command makes.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// A file or folder that root made in the folder of another user is that user's, whose service is to open it.
///
/// # Errors
/// Where it cannot be given.
#[cfg(unix)]
pub fn leave_to_owner(folder: &Path, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner = fs::metadata(folder)?;
    fchown(File::open(path)?, Some(owner.uid()), Some(owner.gid()))
}

/// Nothing: owners are a matter of Unix.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn leave_to_owner(_folder: &Path, _path: &Path) -> io::Result<()> {
    Ok(())
}
