//! Finds PostgreSQL's programs.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const SERVER: &str = "postgres";
const INIT: &str = "initdb";
/// Debian's folder of all installed versions, which are not on `PATH`.
const VERSIONS: &str = "/usr/lib/postgresql";

#[derive(Debug)]
pub(super) struct Binaries {
    folder: PathBuf,
}

impl Binaries {
    /// The programs on `PATH`, else Debian's newest installed version.
    pub(super) fn find() -> io::Result<Self> {
        find(env::var_os("PATH"), Path::new(VERSIONS)).map(|folder| Self { folder }).ok_or_else(|| {
            let message = format!(
                "PostgreSQL's server is missing: `{SERVER}` and `{INIT}` are neither on PATH nor in \
                 {VERSIONS}/*/bin. Run `./scripts/test`, which installs them, or install Debian's package `postgresql`."
            );
            io::Error::new(io::ErrorKind::NotFound, message)
        })
    }

    /// The command that creates the folder of a cluster.
    pub(super) fn init(&self) -> Command {
        Command::new(self.folder.join(INIT))
    }

    pub(super) fn server(&self) -> Command {
        Command::new(self.folder.join(SERVER))
    }
}

fn find(search: Option<OsString>, versions: &Path) -> Option<PathBuf> {
    let on_path = search.and_then(|search| env::split_paths(&search).find(|folder| holds_both(folder)));
    on_path.or_else(|| newest(versions))
}

fn newest(versions: &Path) -> Option<PathBuf> {
    let numbers = fs::read_dir(versions).ok()?.flatten();
    let mut numbers: Vec<u32> =
        numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    let folders = numbers.iter().rev().map(|number| versions.join(number.to_string()).join("bin"));
    folders.into_iter().find(|folder| holds_both(folder))
}

fn holds_both(folder: &Path) -> bool {
    [SERVER, INIT].iter().all(|program| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(folder: &Path, programs: &[&str]) {
        fs::create_dir_all(folder).unwrap();
        for program in programs {
            fs::write(folder.join(program), "").unwrap();
        }
    }

    #[test]
    fn path_goes_first_and_then_the_newest_version_that_is_whole() {
        let root = tempfile::tempdir().unwrap();
        let (path, versions) = (root.path().join("path"), root.path().join("versions"));
        install(&path, &[INIT]);
        install(&versions.join("16/bin"), &[INIT]);
        assert_eq!(find(Some(path.clone().into()), &versions), None);
        for version in ["9", "15"] {
            install(&versions.join(version).join("bin"), &[SERVER, INIT]);
        }
        assert_eq!(find(Some(path.clone().into()), &versions), Some(versions.join("15/bin")));
        install(&path, &[SERVER]);
        assert_eq!(find(Some(path.clone().into()), &versions), Some(path));
    }
}
