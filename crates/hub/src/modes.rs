//! The modes of what is made in the cache: those of its folder, whatever the umask of this process is. Other tools, which may run as
//! other users, share it.

use std::fs;
use std::io;
use std::path::Path;

/// Makes a folder with all above it that are missing, each with the mode of the one above.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
        create_folder(above)?;
    }
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.and_then(|()| adopt(folder, 0o7777)),
    }
}

/// Gives a new file the mode of its folder, but for the right to execute it.
pub(crate) fn adopt_file(path: &Path) -> io::Result<()> {
    adopt(path, 0o666)
}

#[cfg(unix)]
fn adopt(path: &Path, allowed: u32) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mode = fs::metadata(above)?.mode() & allowed;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn adopt(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}
