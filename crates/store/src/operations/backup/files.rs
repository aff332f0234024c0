//! Files and folders of a repository: their owner's only, and on the disk when a function returns.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use overnight_base::private_files;

use crate::operations::backup::errors::BackupError;

/// With its parents, if absent.
pub(super) fn make_folder(path: &Path) -> Result<(), BackupError> {
    private_files::make_folder(path).map_err(BackupError::file(path))
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
