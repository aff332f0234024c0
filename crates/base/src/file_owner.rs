//! Owners of files that commands create or cannot use.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

/// The owner of a file that belongs to another user and so cannot be used, as the end of a sentence; otherwise empty.
pub fn owner_of_denied(path: &Path, error: &io::Error) -> String {
    let words = if error.kind() == io::ErrorKind::PermissionDenied { whose(path) } else { None };
    words.map_or_else(String::new, |words| format!("; {words}"))
}

/// The owner of the file, or of the folder that hides it.
#[cfg(unix)]
fn whose(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;

    let whole = std::path::absolute(path).ok()?;
    let (found, owner) = whole.ancestors().find_map(|path| Some((path, fs::metadata(path).ok()?.uid())))?;
    let own = rustix::process::geteuid().as_raw();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let (owned_by, run_by) = (user(&users, owner), user(&users, own));
    (owner != own).then(|| {
        format!(
            "{} belongs to the user {owned_by}, and this process runs as {run_by}: run it as {owned_by}, or change the owner (chown)",
            found.display()
        )
    })
}

#[cfg(not(unix))]
const fn whose(_path: &Path) -> Option<String> {
    None
}

#[cfg(unix)]
fn user(users: &str, number: u32) -> String {
    let named = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number)).then_some(name)
    });
    named.map_or_else(|| number.to_string(), |name| format!("{name} ({number})"))
}

/// Gives a file or folder that root made to the owner of its folder, whose service will open it. Fails if that user has replaced it by a
/// link.
#[cfg(unix)]
pub fn leave_to_owner(folder: &Path, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};

    use rustix::fs::OFlags;
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner = fs::metadata(folder)?;
    // Follows no link that the user put there meanwhile, and does not block on a pipe.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let made = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = made.metadata()?;
    if (found.uid(), found.gid()) == (owner.uid(), owner.gid()) {
        return Ok(());
    }
    fchown(made, Some(owner.uid()), Some(owner.gid()))
}

/// No effect: owners exist only on Unix.
#[cfg(not(unix))]
pub fn leave_to_owner(_folder: &Path, _path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt, chown, symlink};

    use super::*;

    #[test]
    fn a_user_is_named_with_its_number_as_far_as_the_system_names_it() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nnight:x:998:998::/nonexistent:/bin/false\n";
        assert_eq!([0, 998, 1_000].map(|number| user(users, number)), ["root (0)", "night (998)", "1000"]);
    }

    #[test]
    fn the_owner_is_told_of_what_is_denied_and_belongs_to_another_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let [denied, absent] =
            [io::ErrorKind::PermissionDenied, io::ErrorKind::NotFound].map(io::Error::from);
        let path = folder.path().join("hidden/overnight.db");
        assert_eq!(owner_of_denied(&path, &denied), "", "it is our own");
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: only root gives files to others");
        }
        chown(folder.path(), Some(54_321), None).expect("an owner");
        let words = owner_of_denied(&path, &denied);
        assert!(words.contains("belongs to the user 54321, and this process runs as root (0)"), "{words}");
        assert_eq!(owner_of_denied(&path, &absent), "");
    }

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
