//! Who owns what a command makes.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

/// A file or folder that root made in the folder of another user is that user's, whose service is to open it.
///
/// # Errors
/// Where it cannot be given, and where that user has put a link in its place.
#[cfg(unix)]
pub fn leave_to_owner(folder: &Path, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};

    use rustix::fs::OFlags;
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner = fs::metadata(folder)?;
    // Neither is a link followed that the user put there meanwhile, nor is a pipe waited for.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let made = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = made.metadata()?;
    if (found.uid(), found.gid()) == (owner.uid(), owner.gid()) {
        return Ok(());
    }
    fchown(made, Some(owner.uid()), Some(owner.gid()))
}

/// Nothing: owners are a matter of Unix.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn leave_to_owner(_folder: &Path, _path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt, chown, symlink};

    use super::*;

    #[test]
    fn what_a_link_points_to_is_never_given_away() {
        let folder = tempfile::tempdir().expect("a folder");
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "another's").expect("a file");
        symlink(&target, &link).expect("a link");
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: only root gives files to others");
        }
        chown(folder.path(), Some(1_234), None).expect("an owner");
        leave_to_owner(folder.path(), &link).expect_err("it is a link");
        assert_eq!(fs::metadata(&target).expect("a file").uid(), 0);
        leave_to_owner(folder.path(), &target).expect("it is a file");
        assert_eq!(fs::metadata(&target).expect("a file").uid(), 1_234);
    }
}
