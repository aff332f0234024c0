//! Services of other data folders on this machine, to help a user in the wrong folder.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::serve_file::{address_of_running, url_of_running};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Neighbour {
    pub(crate) data_dir: PathBuf,
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
}

/// The services that this user runs over other folders than `data_dir`; empty if the system does not show them.
pub(crate) fn running_beside(data_dir: &Path) -> Vec<Neighbour> {
    let own = std::fs::canonicalize(data_dir).ok();
    let others = held_folders().into_iter().filter(|folder| Some(folder) != own.as_ref());
    let neighbour = |data_dir: PathBuf| {
        let (url, address) = (url_of_running(&data_dir)?, address_of_running(&data_dir)?);
        Some(Neighbour { data_dir, url, address })
    };
    let mut found: Vec<Neighbour> = others.filter_map(neighbour).collect();
    found.sort();
    found.dedup();
    found
}

/// The data folders whose locks this user's processes hold open.
#[cfg(target_os = "linux")]
fn held_folders() -> Vec<PathBuf> {
    let entries = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    let processes = entries(PathBuf::from("/proc"))
        .filter(|entry| entry.file_name().to_string_lossy().chars().all(|letter| letter.is_ascii_digit()));
    // Other users' processes are not readable, and are left out.
    let files = processes.flat_map(|process| entries(process.path().join("fd")));
    let files = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    let locks = files.filter(|path| path.file_name().is_some_and(|name| name == overnight_store::LOCK_FILE));
    locks.filter_map(|path| path.parent().map(Path::to_owned)).collect()
}

#[cfg(not(target_os = "linux"))]
const fn held_folders() -> Vec<PathBuf> {
    Vec::new()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use overnight_store::FolderLock;

    use super::*;
    use crate::serve_file::ServeFile;

    #[test]
    fn a_service_of_another_folder_is_found_and_ones_own_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let folder = std::fs::canonicalize(folder.path()).unwrap();
        let _lock = FolderLock::take(&folder).unwrap();
        let (address, url) = ("127.0.0.1:9".parse().unwrap(), "http://127.0.0.1:9");
        let _file = ServeFile::write(&folder, address, url, None).unwrap();
        let expected = Neighbour { data_dir: folder.clone(), url: url.to_owned(), address };
        assert!(running_beside(Path::new("elsewhere")).contains(&expected));
        assert!(!running_beside(&folder).contains(&expected));
    }
}
