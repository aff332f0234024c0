//! The modes of files that this process creates.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::sync::OnceLock;

use rustix::fs::Mode;
use rustix::process::umask;

static FOUND: OnceLock<u32> = OnceLock::new();

/// Makes later files of this process private to their owner. Must be called before there are other threads, which may create a file at the
/// same moment.
pub(crate) fn make_private() {
    FOUND.get_or_init(|| umask(Mode::RWXG | Mode::RWXO).bits());
}

/// Gives a new file that belongs to the user, not the service, the mode of the user's umask.
pub(crate) fn leave_to_user(file: &File) -> io::Result<()> {
    let Some(found) = FOUND.get() else { return Ok(()) };
    file.set_permissions(Permissions::from_mode(0o666 & !found))
}
