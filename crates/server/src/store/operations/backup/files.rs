//! Files and folders of a repository: their owner's only, and on the disk when a function returns.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::store::operations::backup::errors::BackupError;

/// What a file is called until it is whole.
const PART: &str = "part";

/// Makes the folder, where it is absent, with those above it.
pub(super) fn make_folder(path: &Path) -> Result<(), BackupError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(BackupError::file(path))
}

/// Makes a file that is not there yet.
pub(super) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a file that appears whole or not at all, and stays.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), BackupError> {
    let part = path.with_extension(PART);
    let written = || {
        remove(&part)?;
        let mut file = create_new(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    written().map_err(BackupError::file(path))?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Removes the file, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes the names in a folder survive a loss of power.
pub(super) fn sync_folder(path: &Path) -> Result<(), BackupError> {
    let sync = || if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) };
    sync().map_err(BackupError::file(path))
}

/// Makes the files in a folder survive a loss of power, all at once where the system can: one by one takes a wait for each.
pub(super) fn sync_files_in(folder: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return Ok(rustix::fs::syncfs(File::open(folder)?)?);
    #[cfg(not(target_os = "linux"))]
    {
        for entry in fs::read_dir(folder)? {
            OpenOptions::new().write(true).open(entry?.path())?.sync_all()?;
        }
        Ok(())
    }
}

/// The names in a folder, in order. A folder that is not there has none.
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
