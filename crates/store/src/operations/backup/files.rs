//! Files and folders of a repository: their owner's only, and on the disk when a function returns.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use overnight_base::private_files;

use crate::operations::backup::errors::BackupError;

/// With its parents, if absent.
pub(super) fn make_folder(path: &Path) -> Result<(), BackupError> {
    private_files::make_folder(path).map_err(BackupError::file(path))
}

/// Opens a file of a repository, which others may have filled: a link is not followed, and a pipe or a device is refused without waiting.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| match path.is_symlink() {
        true => no_file("is a link, and links are not followed"),
        false => error,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_file("is not a regular file")) }
}

fn no_file(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// Reads a whole file, see [`open`]; `None` if it is longer than `bytes_max`.
pub(super) fn read(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let file = open(path, OpenOptions::new().read(true))?;
    if file.metadata()?.len() > bytes_max {
        return Ok(None);
    }
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= bytes_max))
}

/// The file appears whole or not at all, and is durable.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), BackupError> {
    private_files::replace(path, bytes).map_err(BackupError::file(path))
}

/// Makes the names in a folder survive a loss of power.
pub(super) fn sync_folder(path: &Path) -> Result<(), BackupError> {
    private_files::sync_folder(path).map_err(BackupError::file(path))
}

/// Makes the files in a folder survive a loss of power, together if the system can: one by one means a wait for each.
pub(super) fn sync_files_in(folder: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return Ok(rustix::fs::syncfs(File::open(folder)?)?);
    #[cfg(not(target_os = "linux"))]
    {
        for entry in fs::read_dir(folder)? {
            fs::OpenOptions::new().write(true).open(entry?.path())?.sync_all()?;
        }
        Ok(())
    }
}

/// In order; an absent folder is empty.
pub(super) fn names_in(folder: &Path) -> Result<Vec<String>, BackupError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(BackupError::file(folder))?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<_>>>().map_err(BackupError::file(folder))?;
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn regular_file_within_its_bound_is_read_and_nothing_else_is_followed_or_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "12345").expect("a file");
        assert_eq!(read(&path("file"), 5).expect("a file"), Some(b"12345".to_vec()));
        assert_eq!(read(&path("file"), 4).expect("a file"), None);
        std::os::unix::fs::symlink(path("file"), path("link")).expect("a link");
        std::os::unix::fs::symlink("/dev/zero", path("device")).expect("a link");
        std::os::unix::fs::symlink(path("nowhere"), path("dangling")).expect("a link");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), rustix::fs::FileType::Fifo, mode, 0)
            .expect("a pipe");
        for name in ["link", "device", "dangling", "pipe"] {
            let refused = read(&path(name), 5).expect_err("a refusal");
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{name}: {refused}");
            open(&path(name), OpenOptions::new().read(true).write(true).create(true)).expect_err("a refusal");
        }
        assert!(!path("nowhere").exists());
        assert_eq!(read(&path("absent"), 5).expect_err("nothing").kind(), io::ErrorKind::NotFound);
        let sparse = File::create(path("sparse")).and_then(|file| file.set_len(1 << 40));
        assert_eq!(sparse.and_then(|()| read(&path("sparse"), 5)).expect("a file"), None);
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_names_and_what_is_no_folder_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(names_in(&folder.path().join("absent")).expect("no error"), [""; 0]);
        for name in ["b", "a", "c"] {
            fs::write(folder.path().join(name), name).expect("a file");
        }
        assert_eq!(names_in(folder.path()).expect("names"), ["a", "b", "c"]);
        assert!(matches!(names_in(&folder.path().join("a")), Err(BackupError::File { .. })));
    }
}
