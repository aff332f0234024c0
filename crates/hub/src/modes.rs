//! Permissions of new files in the cache: those of its folder, whatever the umask, because tools of other users may share it.

use std::fs;
use std::io;
use std::path::Path;

/// Creates a folder and its missing parents, each with the mode of its parent.
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

/// Gives a new file the mode of its folder without the execute permissions.
pub(crate) fn adopt_file(path: &Path) -> io::Result<()> {
    adopt(path, 0o666)
}

fn adopt(path: &Path, allowed: u32) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mode = fs::metadata(above)?.mode() & allowed;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}
