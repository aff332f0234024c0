//! With which modes this process makes files.

#[cfg(unix)]
mod modes {
    use std::fs::{File, Permissions};
    use std::io;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::OnceLock;

    use rustix::fs::Mode;
    use rustix::process::umask;

    /// What the user's umask was.
    static FOUND: OnceLock<u32> = OnceLock::new();

    /// What this process makes from here on is for its owner only. To be called before there are other threads: one may make
    /// a file at the same moment.
    pub(crate) fn make_private() {
        FOUND.get_or_init(|| umask(Mode::RWXG | Mode::RWXO).bits());
    }

    /// Gives a new file, which is the user's and not the service's, the mode that the user's umask asks for.
    ///
    /// # Errors
    /// What the system says of the change.
    pub(crate) fn leave_to_user(file: &File) -> io::Result<()> {
        let Some(found) = FOUND.get() else { return Ok(()) };
        file.set_permissions(Permissions::from_mode(0o666 & !found))
    }
}

#[cfg(not(unix))]
mod modes {
    use std::fs::File;
    use std::io;

    pub(crate) fn make_private() {}

    pub(crate) fn leave_to_user(_file: &File) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) use modes::{leave_to_user, make_private};
