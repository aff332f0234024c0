//! Files of the cache, which tools of other users may share. New ones have the permissions of their folder, whatever the umask, and what
//! another user put in the place of a file is not followed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

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
        made => made.and_then(|()| fs::set_permissions(folder, mode_above(folder, 0o7777)?)),
    }
}

/// Opens a regular file. A link is not followed, and a pipe or a device is refused without waiting.
pub(crate) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = options.custom_flags(flags).open(path).map_err(|error| match path.is_symlink() {
        true => no_file("is a link, and links are not followed"),
        false => error,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_file("is not a regular file")) }
}

/// Opens a file to write, which must have no other name: a hard link may be a file elsewhere.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    let file = open(path, OpenOptions::new().read(true).write(true).create(true).truncate(false))?;
    if file.metadata()?.nlink() > 1 {
        return Err(no_file("has another name too, and may be a file elsewhere"));
    }
    adopt_file(&file, path)?;
    Ok(file)
}

fn no_file(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// Reads the first bytes of a regular file.
pub(crate) fn read_start(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    open(path, OpenOptions::new().read(true))?.take(bytes_max).read_to_string(&mut text)?;
    Ok(text)
}

/// Gives an open file the mode of its folder without the execute permissions.
pub(crate) fn adopt_file(file: &File, path: &Path) -> io::Result<()> {
    file.set_permissions(mode_above(path, 0o666)?)
}

fn mode_above(path: &Path, allowed: u32) -> io::Result<fs::Permissions> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(fs::Permissions::from_mode(fs::metadata(above)?.mode() & allowed))
}
