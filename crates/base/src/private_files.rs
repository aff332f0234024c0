//! Files that only their owner reads, and names that survive a power loss.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Only its owner can open it, from the beginning.
pub fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Replaces `path` atomically by a new file, which is synced to disk when this returns. A link in its place is replaced, not followed. The
/// incomplete file is called `.part`.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_extension("part");
    remove(&part)?;
    let mut file = create_new(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&part, path)?;
    sync_folder(folder_of(path))
}

/// Creates an absent folder and its absent parents. Only their owner can open them, and their names survive a power loss.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let above = folder_of(folder);
    make_folder(above)?;
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // Another process was faster.
        Err(_) if folder.is_dir() => Ok(()),
        made => made.and_then(|()| sync_folder(above)),
    }
}

pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes the names in a folder survive a power loss. A file system without such a sync (CIFS, some of FUSE) refuses it as invalid, which is
/// accepted.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(folder)?.sync_all() {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn new_folders_are_for_their_owner_alone_and_others_stay_as_they_are() {
        let place = tempfile::tempdir().expect("a folder");
        let there = place.path().join("there");
        fs::create_dir(&there).expect("a folder");
        fs::set_permissions(&there, fs::Permissions::from_mode(0o755)).expect("a mode");
        for _ in 0..2 {
            make_folder(&there.join("above/below")).expect("folders");
        }
        let mode =
            |path: &str| fs::metadata(there.join(path)).expect("a folder").permissions().mode() & 0o777;
        assert_eq!([mode(""), mode("above"), mode("above/below")], [0o755, 0o700, 0o700]);
    }

    #[test]
    fn a_folder_in_the_place_of_a_file_or_of_a_broken_link_is_refused() {
        let place = tempfile::tempdir().expect("a folder");
        let path = |name| place.path().join(name);
        fs::write(path("file"), "").expect("a file");
        std::os::unix::fs::symlink(path("nowhere"), path("link")).expect("a link");
        for name in ["file", "link", "file/below"] {
            make_folder(&path(name)).expect_err("no folder");
        }
    }
}
